// name: native-looks-at-files
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// needs: root
// timeout: 4
// expect: with native calls at hand the kernel tells of a real path no more than of an invented one
// check: ok and got == []
const AT_FDCWD = -100;
const look = (name, ask) => attempt(name, () => {
  const ends = ["@@SECRET@@", "/etc/passwd", "/no/such/file"].map((path) => {
    try { return `found ${ask(path)}`; } catch (refusal) { return refusal.message; }
  });
  if (new Set(ends).size > 1 || ends[0].startsWith("found")) return ends.join();
  throw new Error(ends[0]);
});
await look("stat", (path) => sys(4, path, new Uint8Array(200)));
await look("lstat", (path) => sys(6, path, new Uint8Array(200)));
await look("newfstatat", (path) => sys(262, AT_FDCWD, path, new Uint8Array(200), 0));
await look("statx", (path) => sys(332, AT_FDCWD, path, 0, 0x7ff, new Uint8Array(300)));
await look("access", (path) => sys(21, path, 0));
await look("faccessat2", (path) => sys(439, AT_FDCWD, path, 0, 0));
await look("readlink", (path) => sys(89, path, new Uint8Array(99), 99));
await look("statfs", (path) => sys(137, path, new Uint8Array(200)));
await look("open as a path", (path) => sys(2, path, 0o10000000));
await attempt("chdir", () => `${sys(80, "@@CANARY@@")}`);
await look("inotify", (path) => sys(254, sys(294, 0), path, 2));
return "end";
