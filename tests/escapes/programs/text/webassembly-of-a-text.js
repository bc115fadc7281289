// name: webassembly-of-a-text
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: a text is no module of WebAssembly either
// check: ok and got == []
const bytes = Uint8Array.from(atob(signal.data.wasm), (character) => character.charCodeAt(0));
const type = { headers: { "content-type": "application/wasm" } };
await attempt("instantiate", async () => (await WebAssembly.instantiate(bytes)).instance.exports.f());
await attempt("compile", async () => new WebAssembly.Instance(await WebAssembly.compile(bytes)).exports.f());
await attempt("module", () => new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f());
await attempt("streaming", async () => (await WebAssembly.instantiateStreaming(new Response(bytes, type))).instance.exports.f());
await attempt("global", () => new globalThis["Web" + "Assembly"].Module(bytes));
