// name: modules-of-node
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no module of Node is left that could load or run a text
// check: ok and got == []
for (const name of ["module", "vm", "worker_threads", "inspector", "inspector/promises", "repl", "child_process", "v8", "wasi", "test", "cluster"]) {
  await attempt(name, () => process.getBuiltinModule(name) && "there");
  await attempt(`node:${name}`, () => Object.getPrototypeOf(process).getBuiltinModule(`node:${name}`) && "there");
}
await attempt("natives", () => process.binding("natives") && "there");
await attempt("dlopen", () => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6") ?? "there");
await attempt("main", () => process.mainModule && "there");
await attempt("in Buffer", () => Buffer.from([])[["con", "structor"].join("")].constructor(signal.data.text) && "there");
