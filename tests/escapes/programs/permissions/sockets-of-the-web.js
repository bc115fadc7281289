// name: sockets-of-the-web
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 6
// expect: no function of the web platform reaches a server
// check: ok and got == [] and hits == []
await attempt("fetch", async () => `${(await fetch("http://@@FORBIDDEN@@/fetch")).status}`);
await attempt("fetch with a client", async () => `${(await fetch("http://x.test/", { client: Deno.createHttpClient({ proxy: { url: "http://@@FORBIDDEN@@" } }) })).status}`);
await attempt("fetch by unix", async () => `${(await fetch("http://x.test/", { client: Deno.createHttpClient({ proxy: { transport: "unix", path: "/run/x.sock" } }) })).status}`);
await attempt("fetch a file", async () => (await fetch("file://@@SECRET@@")).text());
await attempt("WebSocket", () => new Promise((resolve, reject) => { const socket = new WebSocket("ws://@@FORBIDDEN@@/ws"); socket.onopen = () => resolve("open"); socket.onerror = () => reject(new Error("refused")); }));
await attempt("WebSocketStream", async () => { await new WebSocketStream("ws://@@FORBIDDEN@@/wss").opened; return "open"; });
await attempt("EventSource", () => new Promise((resolve, reject) => { const source = new EventSource("http://@@FORBIDDEN@@/es"); source.onopen = () => resolve("open"); source.onerror = () => { source.close(); reject(new Error("refused")); }; }));
await attempt("XMLHttpRequest", () => { new XMLHttpRequest().open("GET", "http://@@FORBIDDEN@@/x", false); return "open"; });
await attempt("WebTransport", async () => { await new WebTransport("https://@@FORBIDDEN@@/").ready; return "ready"; });
await attempt("sendBeacon", () => navigator.sendBeacon("http://@@FORBIDDEN@@/beacon", "x") && "sent");
return "end";
