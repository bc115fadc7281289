// name: a-tool-that-was-not-lent
// class: tools
// tier: isolated
// tools: echo
// uses: send, attempts
// timeout: 3
// expect: a tool of the host that was not lent runs by no name and no way
// check: ok and got == [] and called == []
await attempt("by property", () => tools.admin({}));
await attempt("by prototype", () => Object.getPrototypeOf(tools).admin({}));
await attempt("by global", () => globalThis.admin({}));
await attempt("by constructor", () => tools.echo.constructor("return admin({})")());
for (const name of ["admin", "core.admin", "echo.admin", "tools.admin", "../admin", "admin\0", "ADMIN", "echo\nadmin", " admin"]) {
  frame({ type: "__tool_call__", call_id: `x${name.length}`, name, params: {} });
}
await pause(300);
return "end";
