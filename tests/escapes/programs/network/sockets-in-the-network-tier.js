// name: sockets-in-the-network-tier
// class: network
// tier: network
// authority: yes
// uses: attempts
// timeout: 5
// expect: the network tier gives a fetch and no socket
// check: ok and got == [] and hits == []
const [hostname, port] = ["127.0.0.1", Number("@@ALLOWED@@".split(":")[1])];
await attempt("connect", async () => { (await Deno.connect({ hostname, port })).close(); return "connected"; });
await attempt("WebSocket", () => new Promise((resolve, reject) => { const socket = new WebSocket("ws://@@ALLOWED@@/"); socket.onopen = () => resolve("open"); socket.onerror = () => reject(new Error("refused")); }));
await attempt("http.get", async () => happens((await import("node:http")).get("http://@@ALLOWED@@/"), "response"));
await attempt("resolveDns", () => Deno.resolveDns("localhost", "A"));
await attempt("import", () => import("http://@@ALLOWED@@/x.js"));
await attempt("EventSource", () => new Promise((resolve, reject) => { const source = new EventSource("http://@@ALLOWED@@/ok"); source.onopen = () => resolve("open"); source.onerror = () => { source.close(); reject(new Error("refused")); }; }));
await attempt("createHttpClient", async () => `${(await fetch("http://x.test/", { client: Deno.createHttpClient({ proxy: { url: "http://@@FORBIDDEN@@" } }) })).status}`);
return "end";
