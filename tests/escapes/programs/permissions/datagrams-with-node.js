// name: datagrams-with-node
// class: permissions
// tier: isolated
// authority: yes
// timeout: 2
// expect: Node binds and sends no datagram
// check: (not ok or value != "listening") and hits == []
const { createSocket } = await import("node:dgram");
return await new Promise((resolve) => {
  const socket = createSocket("udp4");
  socket.on("listening", () => resolve("listening"));
  socket.on("error", (refusal) => resolve(refusal.code));
  socket.bind(0);
});
