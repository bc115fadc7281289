// name: native-changes-of-files
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand mode, owner, times and attributes of the host's files stay as they are
// check: ok and got == []
const AT_FDCWD = -100;
await attempt("chmod", () => `${sys(90, "@@SECRET@@", 0o777)}`);
await attempt("fchmodat", () => `${sys(268, AT_FDCWD, "@@SECRET@@", 0o777)}`);
await attempt("fchmodat2", () => `${sys(452, AT_FDCWD, "@@SECRET@@", 0o777, 0)}`);
await attempt("chown", () => `${sys(92, "@@SECRET@@", 1, 1)}`);
await attempt("lchown", () => `${sys(94, "@@SECRET@@", 1, 1)}`);
await attempt("fchownat", () => `${sys(260, AT_FDCWD, "@@SECRET@@", 1, 1, 0)}`);
await attempt("utime", () => `${sys(132, "@@SECRET@@", 0)}`);
await attempt("utimes", () => `${sys(235, "@@SECRET@@", 0)}`);
await attempt("utimensat", () => `${sys(280, AT_FDCWD, "@@SECRET@@", 0, 0)}`);
await attempt("setxattr", () => `${sys(188, "@@SECRET@@", "user.x", new Uint8Array(4), 4, 0)}`);
await attempt("getxattr", () => `${sys(191, "@@SECRET@@", "user.x", new Uint8Array(4), 4)}`);
await attempt("listxattr", () => `${sys(194, "@@SECRET@@", new Uint8Array(99), 99)}`);
return "end";
