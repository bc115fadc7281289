// name: change-what-is-known-of-a-file
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// needs: seccomp
// timeout: 4
// expect: mode, owner and times of a file of the host cannot be changed, by path or by descriptor
// check: ok and got == []
const file = "@@SECRET@@";
const fs = await import("node:fs");
await attempt("chmod", () => { Deno.chmodSync(file, 0o777); return "done"; });
await attempt("chown", () => { Deno.chownSync(file, 1, 1); return "done"; });
await attempt("utime", () => { Deno.utimeSync(file, 1, 1); return "done"; });
await attempt("node chmod", () => { fs.chmodSync(file, 0o777); return "done"; });
await attempt("node lchown", () => { fs.lchownSync(file, 1, 1); return "done"; });
await attempt("node utimes", () => { fs.utimesSync(file, 1, 1); return "done"; });
await attempt("node lutimes", () => { fs.lutimesSync(file, 1, 1); return "done"; });
await attempt("by descriptor", () => { fs.futimesSync(fs.openSync(file), 1, 1); return "done"; });
await attempt("chmod of a folder", () => { Deno.chmodSync("@@CANARY@@", 0o777); return "done"; });
return "end";
