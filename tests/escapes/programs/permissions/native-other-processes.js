// name: native-other-processes
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand no other process can be traced, read, compared or limited
// check: ok and got == []
const host = Number("@@HOST@@");
const bytes = new Uint8Array(64), here = () => new BigUint64Array([pointer(bytes), 64n]), there = new BigUint64Array([0x400000n, 64n]);
await attempt("ptrace be traced", () => `${sys(101, 0, 0, 0, 0)}`);
await attempt("ptrace attach", () => reach(101, 16, 0x7fffffff, 0, 0));
await attempt("ptrace seize", () => `${sys(101, 0x4206, host, 0, 0)}`);
await attempt("process_vm_readv", () => `${sys(310, host, here(), 1, there, 1, 0)}`);
await attempt("process_vm_writev", () => reach(311, host, 0, 0, 0, 0, 0));
await attempt("process_madvise", () => `${sys(440, sys(434, host, 0), there, 1, 21, 0)}`);
await attempt("kcmp", () => `${sys(312, host, host, 0, 0, 0)}`);
await attempt("pidfd_getfd", () => `${sys(438, sys(434, host, 0), 0, 0)}`);
await attempt("prlimit of the host", () => reach(302, host, 7, new BigUint64Array([2n, 1n]), 0));
await attempt("priority of the host", () => `${sys(141, 0, host, 0)}`);
await attempt("affinity of the host", () => reach(203, host, 0, 0));
await attempt("scheduler of the host", () => reach(144, host, 3, 0));
return "end";
