// name: native-which-processes-exist
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: with native calls at hand the kernel tells of a real process no more than of an invented one
// check: ok and got == []
const look = (name, ask) => attempt(name, () => {
  const ends = [Number("@@HOST@@"), 1, 0x3ffff0].map((pid) => {
    try { ask(pid); return "found"; } catch (refusal) { return refusal.message; }
  });
  return new Set(ends).size > 1 && ends.join();
});
await look("prlimit", (pid) => sys(302, pid, 7, 0, new BigUint64Array(2)));
await look("getpgid", (pid) => sys(121, pid));
await look("getsid", (pid) => sys(124, pid));
await look("getpriority", (pid) => sys(140, 0, pid));
await look("sched_getscheduler", (pid) => sys(145, pid));
await look("sched_getaffinity", (pid) => sys(204, pid, 8, new Uint8Array(8)));
await look("clock_gettime", (pid) => sys(228, (~pid << 3) | 2, new BigUint64Array(2)));
await look("clock_getres", (pid) => sys(229, (~pid << 3) | 2, new BigUint64Array(2)));
await look("capget", (pid) => sys(125, new Uint32Array([0x20080522, pid]), new Uint32Array(6)));
return "end";
