// name: sockets-with-deno
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 6
// expect: Deno opens no socket of any kind
// check: ok and got == [] and hits == []
const [hostname, port] = ["127.0.0.1", Number("@@FORBIDDEN@@".split(":")[1])];
await attempt("connect", async () => { (await Deno.connect({ hostname, port })).close(); return "connected"; });
await attempt("connectTls", async () => { (await Deno.connectTls({ hostname, port })).close(); return "connected"; });
await attempt("connect unix", async () => { (await Deno.connect({ transport: "unix", path: "/run/docker.sock" })).close(); return "connected"; });
await attempt("listen", () => { Deno.listen({ port: 0 }).close(); return "listening"; });
await attempt("listen unix", () => { Deno.listen({ transport: "unix", path: "@@CANARY@@/s" }).close(); return "listening"; });
await attempt("listenTls", () => { Deno.listenTls({ port: 0, cert: "", key: "" }).close(); return "listening"; });
await attempt("listenDatagram", () => { Deno.listenDatagram({ port: 0, transport: "udp" }).close(); return "listening"; });
await attempt("send a datagram", async () => { const socket = Deno.listenDatagram({ port: 0, transport: "udp" }); await socket.send(new Uint8Array(3), { transport: "udp", hostname, port: Number("@@UDP@@".split(":")[1]) }); return "sent"; });
await attempt("serve", async () => { const server = Deno.serve({ port: 0, onListen() {} }, () => new Response("x")); await server.shutdown(); return "served"; });
await attempt("quic", () => { new Deno.QuicEndpoint({ hostname, port: 0 }); return "endpoint"; });
return "end";
