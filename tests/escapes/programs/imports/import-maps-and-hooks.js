// name: import-maps-and-hooks
// class: imports
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: loader hooks give no way to a file
// check: ok and got == []
const module = await import("node:module");
await attempt("registerHooks", async () => { module.registerHooks?.({ resolve: (name, context, next) => next(name === "hook:x" ? "file://@@SECRET@@" : name, context), load: (url, context, next) => next(url, { ...context, format: "json" }) }); return (await import("hook:x", { with: { type: "json" } })).default; });
await attempt("findPackageJSON", () => module.findPackageJSON?.("..", "file://@@SECRET@@") ?? false);
await attempt("createRequire", () => module.createRequire("file://@@SECRET@@")("./secret.json"));
await attempt("module._load", () => module.default._load?.("@@SECRET@@"));
await attempt("compile cache", () => { module.enableCompileCache?.("@@CANARY@@"); return false; });
await attempt("source map support", () => { module.findSourceMap?.("@@SECRET@@"); return false; });
return "end";
