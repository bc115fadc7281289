// name: whether-files-exist
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// needs: root
// timeout: 5
// expect: the code does not even learn which files exist: a real path and an invented one fail alike
// check: ok and got == []
const fs = await import("node:fs");
const tell = (name, look) => attempt(name, () => {
  const ends = ["@@SECRET@@", "/etc/passwd", "/usr/bin/env", "/no/such/file"].map((path) => {
    try { look(path); return "there"; } catch (refusal) { return `${refusal.name}`; }
  });
  if (ends.includes("there") || new Set(ends).size > 1) return ends.join();
  throw new Error(ends[0]);
});
await tell("stat", (path) => Deno.statSync(path));
await tell("lstat", (path) => Deno.lstatSync(path));
await tell("realPath", (path) => Deno.realPathSync(path));
await tell("node stat", (path) => fs.statSync(path));
await tell("node access", (path) => fs.accessSync(path));
await tell("node exists", (path) => { if (!fs.existsSync(path)) throw new Error("no"); });
await attempt("chdir", () => { Deno.chdir("@@CANARY@@"); return "there"; });
await tell("open", (path) => Deno.openSync(path));
return "end";
