// name: native-own-limits
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: a process cannot lift its own limits, nor outlive the host by forgetting its parent-death signal
// check: ok and got == []
const unlimited = new BigUint64Array([2n ** 64n - 1n, 2n ** 64n - 1n]);
for (const [name, number] of Object.entries({ cpu: 0, fileSize: 1, data: 2, core: 4, files: 7 })) {
  await attempt(`setrlimit ${name}`, () => `${sys(160, number, unlimited)}`);
  await attempt(`prlimit ${name}`, () => `${sys(302, 0, number, unlimited, 0)}`);
}
await attempt("no_new_privs off", () => `${sys(157, 38, 0, 0, 0, 0)}`);
await attempt("forget the parent", () => `${sys(157, 1, 0, 0, 0, 0)}`);
await attempt("dumpable", () => `${sys(157, 4, 1, 0, 0, 0)}`);
await attempt("tracer of one's choice", () => `${sys(157, 0x59616d61, -1, 0, 0, 0)}`);
await attempt("seccomp off", () => `${sys(317, 0, 1, 0)}`);
return "end";
