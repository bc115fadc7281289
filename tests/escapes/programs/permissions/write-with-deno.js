// name: write-with-deno
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: nothing can be written, made, moved or removed by any function of Deno
// check: ok and got == []
const file = "@@SECRET@@", folder = "@@CANARY@@";
await attempt("writeTextFile", () => { Deno.writeTextFileSync(folder + "/a", "x"); return "done"; });
await attempt("append", () => { Deno.writeTextFileSync(file, "x", { append: true }); return "done"; });
await attempt("create", () => { Deno.createSync(folder + "/b"); return "done"; });
await attempt("mkdir", () => { Deno.mkdirSync(folder + "/c"); return "done"; });
await attempt("symlink", () => { Deno.symlinkSync("/etc", folder + "/d"); return "done"; });
await attempt("link", () => { Deno.linkSync(file, folder + "/e"); return "done"; });
await attempt("rename", () => { Deno.renameSync(file, folder + "/f"); return "done"; });
await attempt("copyFile", () => { Deno.copyFileSync(file, folder + "/g"); return "done"; });
await attempt("remove", () => { Deno.removeSync(file); return "done"; });
await attempt("truncate", () => { Deno.truncateSync(file, 1); return "done"; });
await attempt("makeTempFile", () => Deno.makeTempFileSync({ prefix: "@@MARK@@" }));
await attempt("makeTempFile there", () => Deno.makeTempFileSync({ dir: folder }));
await attempt("makeTempDir", () => Deno.makeTempDirSync({ prefix: "@@MARK@@" }));
for (const place of ["/tmp", "/dev/shm", "/var/tmp", "/run", "/", "/proc/self/cwd"]) {
  await attempt(place, () => { Deno.writeTextFileSync(`${place}/@@MARK@@`, "x"); return "done"; });
}
return "end";
