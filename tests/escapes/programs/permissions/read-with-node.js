// name: read-with-node
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no file of the host can be read by any function of Node
// check: ok and got == []
const file = "@@SECRET@@";
const fs = await import("node:fs");
await attempt("readFileSync", () => fs.readFileSync(file, "utf8"));
await attempt("promises", () => fs.promises.readFile(file, "utf8"));
await attempt("openSync", () => { const bytes = new Uint8Array(99); fs.readSync(fs.openSync(file), bytes); return text(bytes); });
await attempt("stream", async () => { for await (const chunk of fs.createReadStream(file)) return String(chunk); });
await attempt("openAsBlob", async () => (await fs.openAsBlob(file)).text());
await attempt("readdirSync", () => fs.readdirSync("/etc").join());
await attempt("opendirSync", () => fs.opendirSync("/etc").readSync().name);
await attempt("globSync", () => fs.globSync("/etc/*").join() || false);
await attempt("readlinkSync", () => { const link = fs.readlinkSync("/proc/self/exe"); return link.split("/").length > 2 && link; });
await attempt("cpSync", () => { fs.cpSync(file, "@@CANARY@@/copy"); return "copied"; });
await attempt("statfsSync", () => JSON.stringify(fs.statfsSync("@@CANARY@@")));
await attempt("watch", async () => { const watcher = fs.watch("/tmp"); await new Promise((resolve, reject) => { watcher.on("error", reject); setTimeout(resolve, 200); }); watcher.close(); return "watching"; });
return "end";
