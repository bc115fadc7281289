// name: asking-for-permissions
// class: permissions
// tier: isolated
// uses: attempts
// timeout: 3
// expect: permissions are neither granted on request nor asked for in a prompt that hangs
// check: ok and got == []
for (const name of ["read", "write", "net", "env", "run", "ffi", "sys", "import"]) {
  await attempt(`request ${name}`, async () => (await Deno.permissions.request({ name })).state === "granted" && "granted");
  await attempt(`query ${name}`, () => Deno.permissions.querySync({ name }).state === "granted" && "granted");
}
await attempt("prompt", () => prompt("may I?") ?? false);
await attempt("confirm", () => confirm("may I?") && "yes");
await attempt("broker", () => { const { ops } = Deno[Deno.internal].core; for (const name of Object.keys(ops)) if (/permission/.test(name)) { try { ops[name]({ name: "read" }); } catch { /* refused */ } } return Deno.permissions.querySync({ name: "read" }).state === "granted" && "granted"; });
return "end";
