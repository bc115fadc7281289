// name: memory-of-processes
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: the memory of no process can be opened, not even its own, by way of files
// check: ok and got == []
for (const who of ["self", Deno.ppid, "@@HOST@@", 1]) {
  await attempt(`read memory of ${who}`, () => { Deno.openSync(`/proc/${who}/mem`); return "opened"; });
  await attempt(`write memory of ${who}`, () => { Deno.openSync(`/proc/${who}/mem`, { read: true, write: true }); return "opened"; });
  await attempt(`descriptors of ${who}`, () => [...Deno.readDirSync(`/proc/${who}/fd`)].map((entry) => entry.name).join());
}
await attempt("devices", () => { Deno.openSync("/dev/mem"); return "opened"; });
return "end";
