// name: listening-with-node-http
// class: permissions
// tier: isolated
// authority: yes
// timeout: 2
// expect: Node serves nothing
// check: not ok or value != "listening"
const { createServer } = await import("node:http");
return await new Promise((resolve) => {
  const server = createServer(() => {});
  server.on("listening", () => resolve("listening"));
  server.on("error", (refusal) => resolve(refusal.code));
  server.listen(0);
});
