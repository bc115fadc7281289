// name: sockets-with-node
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 8
// expect: Node opens no socket of any kind
// check: ok and got == [] and hits == []
const port = Number("@@FORBIDDEN@@".split(":")[1]), host = "127.0.0.1";
const net = await import("node:net"), http = await import("node:http"), https = await import("node:https");
const tls = await import("node:tls"), http2 = await import("node:http2");
await attempt("net.connect", () => happens(net.connect(port, host), "connect"));
await attempt("net.connect to a path", () => happens(net.connect("/run/docker.sock"), "connect"));
await attempt("net abstract", () => happens(net.connect("\0x"), "connect"));
await attempt("http.get", () => happens(http.get("http://@@FORBIDDEN@@/node"), "response"));
await attempt("https.get", () => happens(https.get("https://@@FORBIDDEN@@/node"), "response"));
await attempt("tls.connect", () => happens(tls.connect(port, host), "connect", "secureConnect"));
await attempt("http2.connect", () => happens(http2.connect("http://@@FORBIDDEN@@"), "connect"));
return "end";
