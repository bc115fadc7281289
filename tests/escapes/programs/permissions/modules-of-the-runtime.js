// name: modules-of-the-runtime
// class: permissions
// tier: isolated
// uses: attempts
// timeout: 3
// expect: the runtime's own modules cannot be imported
// check: ok and got == []
for (const name of ["ext:core/ops", "ext:core/mod.js", "ext:runtime/98_global_scope_shared.js", "ext:deno_fs/30_fs.js", "checkin:x", "deno:x", "internal:x", "node:internal/process/x"]) {
  await attempt(name, () => import(name));
}
await attempt("bootstrap", () => (globalThis.__bootstrap ?? globalThis.bootstrap) ? "there" : false);
return "end";
