// name: native-kernel-surface
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: the parts of the kernel that attacks like best are not there
// check: ok and got == []
await attempt("io_uring_setup", () => `${sys(425, 4, new Uint8Array(120))}`);
await attempt("bpf", () => `${sys(321, 0, new BigUint64Array([2n, 8n, 8n, 1n, 0n, 0n, 0n, 0n, 0n]), 72)}`);
await attempt("perf_event_open", () => `${sys(298, new BigUint64Array([0x7000000001n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n]), 0, -1, -1, 0)}`);
await attempt("userfaultfd", () => `${sys(323, 1)}`);
await attempt("keyctl", () => `${sys(250, 0, -3, 0)}`);
await attempt("add_key", () => `${sys(248, "user", "@@MARK@@", new Uint8Array(4), 4, -2)}`);
await attempt("request_key", () => `${sys(249, "user", "@@MARK@@", 0, 0)}`);
await attempt("personality", () => `${sys(135, 0x0040000)}`);
await attempt("modify_ldt", () => `${sys(154, 0, new Uint8Array(64), 64)}`);
await attempt("fanotify_init", () => `${sys(300, 0, 0)}`);
await attempt("init_module", () => reach(175, 0, 4, 0));
await attempt("kexec_load", () => reach(246, 0, 1000, 0, 0));
await attempt("syslog", () => `${sys(103, 10, 0, 0)}`);
await attempt("acct", () => reach(163, 1));
await attempt("quotactl", () => reach(179, 0x8000010, 1, 0, 0));
await attempt("lookup_dcookie", () => reach(212, 1, 0, 9));
await attempt("swapon", () => reach(167, 1, 0));
await attempt("iopl", () => `${sys(172, 3)}`);
return "end";
