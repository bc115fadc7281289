// name: native-files
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand the kernel still opens no file of the host
// check: ok and got == []
const AT_FDCWD = -100, O_RDONLY = 0, O_WRONLY_CREATE = 0o101, O_PATH = 0o10000000;
const read = (fd) => { const bytes = new Uint8Array(200); const count = sys(0, fd, bytes, 200); return text(bytes.subarray(0, count)); };
await attempt("open", () => read(sys(2, "@@SECRET@@", O_RDONLY)));
await attempt("openat", () => read(sys(257, AT_FDCWD, "@@SECRET@@", O_RDONLY)));
await attempt("openat2", () => read(sys(437, AT_FDCWD, "@@SECRET@@", new BigUint64Array(3), 24)));
await attempt("open passwd", () => read(sys(2, "/etc/passwd", O_RDONLY)));
await attempt("creat", () => `${sys(85, "@@CANARY@@/a", 0o644)}`);
await attempt("open to write", () => `${sys(2, "@@CANARY@@/b", O_WRONLY_CREATE, 0o644)}`);
await attempt("mkdir", () => `${sys(83, "@@CANARY@@/c", 0o755)}`);
await attempt("mknod", () => `${sys(133, "@@CANARY@@/d", 0o10644, 0)}`);
await attempt("symlink", () => `${sys(88, "/etc", "@@CANARY@@/e")}`);
await attempt("link", () => `${sys(86, "@@SECRET@@", "@@CANARY@@/f")}`);
await attempt("linkat", () => `${sys(265, AT_FDCWD, "@@SECRET@@", AT_FDCWD, "@@CANARY@@/g", 0)}`);
await attempt("rename", () => `${sys(82, "@@SECRET@@", "@@CANARY@@/h")}`);
await attempt("renameat2", () => `${sys(316, AT_FDCWD, "@@SECRET@@", AT_FDCWD, "@@CANARY@@/i", 0)}`);
await attempt("unlink", () => `${sys(87, "@@SECRET@@")}`);
await attempt("rmdir", () => `${sys(84, "@@CANARY@@")}`);
await attempt("truncate", () => `${sys(76, "@@SECRET@@", 0)}`);
await attempt("unnamed file", () => `${sys(2, "/tmp", 0o20200001, 0o600)}`);
await attempt("handle", () => { sys(303, AT_FDCWD, "@@SECRET@@", new Uint8Array([128, 0, 0, 0, ...Array(140).fill(0)]), new Uint8Array(4), 0); return "a handle"; });
await attempt("open by handle", () => `${sys(304, AT_FDCWD, new Uint8Array([8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]), O_PATH)}`);
return "end";
