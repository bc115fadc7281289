// name: request-objects-that-lie
// class: network
// tier: network
// uses: attempts
// timeout: 4
// expect: a request whose parts change when they are read twice goes where it was checked to go
// check: ok and got == [] and hits == []
let looks = 0;
const sly = { toString: () => looks++ === 0 ? "http://@@ALLOWED@@/ok" : "http://@@FORBIDDEN@@/" };
await attempt("a changing URL", async () => { const answer = await (await fetch(sly)).text(); return answer.includes("FORBIDDEN") && answer; });
await attempt("a patched Request", async () => { const request = new Request("http://@@ALLOWED@@/ok"); Object.defineProperty(request, "url", { value: "http://@@FORBIDDEN@@/" }); const answer = await (await fetch(request)).text(); return answer.includes("FORBIDDEN") && answer; });
URL.prototype.toString = () => "http://@@FORBIDDEN@@/";
await attempt("a patched URL", async () => `${(await fetch(new URL("http://@@FORBIDDEN@@/"))).status}`);
return "end";
