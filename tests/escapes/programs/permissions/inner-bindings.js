// name: inner-bindings
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: Node's inner bindings give no way around the checks
// check: ok and got == []
const { default: process } = await import("node:process");
const { createRequire } = await import("node:module");
await attempt("process.binding", () => { const binding = process.binding("fs"); return binding.open ? `${binding.open("@@SECRET@@", 0, 0)}` : false; });
await attempt("process.dlopen", () => { process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libm.so.6"); return "loaded"; });
await attempt("require", () => createRequire("file:///x.js")("@@SECRET@@"));
await attempt("require of an addon", () => createRequire("file:///x.js")("/tmp/x.node"));
await attempt("require.resolve", () => createRequire("file:///x.js").resolve("@@SECRET@@"));
await attempt("register", async () => { (await import("node:module")).register("file://@@SECRET@@"); return false; });
await attempt("extensions", () => { const module = {}; createRequire("file:///x.js").extensions[".json"](module, "@@SECRET@@"); return module.exports; });
return "end";
