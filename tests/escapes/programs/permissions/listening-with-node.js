// name: listening-with-node
// class: permissions
// tier: isolated
// authority: yes
// timeout: 2
// expect: Node listens on no port
// check: not ok or value != "listening"
const { createServer } = await import("node:net");
return await new Promise((resolve) => {
  const server = createServer();
  server.on("listening", () => resolve("listening"));
  server.on("error", (refusal) => resolve(refusal.code));
  server.listen(0, "127.0.0.1");
});
