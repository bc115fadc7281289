// name: native-namespaces
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand no namespace is made or entered, nothing is mounted, no root is changed
// check: ok and got == []
await attempt("unshare mounts", () => `${sys(272, 0x20000)}`);
await attempt("unshare network", () => `${sys(272, 0x40000000)}`);
await attempt("unshare user", () => `${sys(272, 0x10000000)}`);
await attempt("unshare names", () => `${sys(272, 0x4000000)}`);
await attempt("clone into a user namespace", () => { const pid = sys(56, 0x10000011, 0, 0, 0, 0); if (pid === 0) sys(60, 0); return `${pid}`; });
await attempt("setns", () => `${sys(308, sys(434, Number("@@HOST@@"), 0), 0)}`);
await attempt("mount", () => reach(165, 0, 0, 0, 0, 0));
await attempt("mount_setattr", () => reach(442, -1, 0, 0, 0, 0));
await attempt("move_mount", () => reach(429, -1, 0, -1, 0, 0));
await attempt("umount", () => reach(166, 0, 0));
await attempt("fsopen", () => `${sys(430, "tmpfs", 0)}`);
await attempt("open_tree", () => `${sys(428, -100, "/", 1)}`);
await attempt("pivot_root", () => reach(155, 0, 0));
await attempt("chroot", () => `${sys(161, "/")}`);
await attempt("sethostname", () => reach(170, 0, 9));
await attempt("setuid", () => `${sys(105, 12345)}`);
await attempt("setgroups", () => `${sys(116, 0, 0)}`);
await attempt("capset", () => `${sys(126, new Uint32Array([0x20080522, 0]), new Uint32Array([~0, ~0, 0, ~0, ~0, 0]))}`);
await attempt("reboot", () => reach(169, 0, 0, 0, 0));
await attempt("settime", () => reach(227, 0, 0));
return "end";
