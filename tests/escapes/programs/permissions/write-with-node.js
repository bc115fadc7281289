// name: write-with-node
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: nothing can be written by any function of Node
// check: ok and got == []
const file = "@@SECRET@@", folder = "@@CANARY@@";
const fs = await import("node:fs");
await attempt("writeFileSync", () => { fs.writeFileSync(folder + "/a", "x"); return "done"; });
await attempt("appendFileSync", () => { fs.appendFileSync(file, "x"); return "done"; });
await attempt("promises", async () => { await fs.promises.writeFile(folder + "/b", "x"); return "done"; });
await attempt("stream", async () => { const stream = fs.createWriteStream(folder + "/c"); stream.end("x"); return await happens(stream, "finish"); });
await attempt("mkdirSync", () => { fs.mkdirSync(folder + "/d"); return "done"; });
await attempt("mkdtempSync", () => fs.mkdtempSync(folder + "/e"));
await attempt("linkSync", () => { fs.linkSync(file, folder + "/f"); return "done"; });
await attempt("symlinkSync", () => { fs.symlinkSync(file, folder + "/g"); return "done"; });
await attempt("renameSync", () => { fs.renameSync(file, folder + "/h"); return "done"; });
await attempt("rmSync", () => { fs.rmSync(file); return "done"; });
await attempt("unlinkSync", () => { fs.unlinkSync(file); return "done"; });
await attempt("truncateSync", () => { fs.truncateSync(file); return "done"; });
await attempt("cpSync", () => { fs.cpSync("/etc", folder + "/i", { recursive: true }); return "done"; });
await attempt("mkdtemp in tmp", () => fs.mkdtempSync("/tmp/@@MARK@@"));
return "end";
