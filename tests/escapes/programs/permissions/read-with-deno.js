// name: read-with-deno
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no file of the host can be read by any function of Deno
// check: ok and got == []
const file = "@@SECRET@@";
await attempt("readTextFile", () => Deno.readTextFile(file));
await attempt("readTextFileSync", () => Deno.readTextFileSync(file));
await attempt("readFile", async () => text(await Deno.readFile(file)));
await attempt("open", async () => text(await new Response((await Deno.open(file)).readable).bytes()));
await attempt("openSync", () => { const bytes = new Uint8Array(99); Deno.openSync(file).readSync(bytes); return text(bytes); });
await attempt("readDir", async () => { for await (const entry of Deno.readDir("/etc")) return entry.name; throw new Error("empty"); });
await attempt("readDirSync", () => [...Deno.readDirSync("/")].map((entry) => entry.name).join() || false);
await attempt("readLink", () => { const link = Deno.readLinkSync("/proc/self/exe"); return link.split("/").length > 2 && link; });
await attempt("watchFs", async () => { const watcher = Deno.watchFs("/tmp"); setTimeout(() => watcher.close(), 200); for await (const event of watcher) return event.kind; return "watching"; });
await attempt("passwd", () => Deno.readTextFileSync("/etc/passwd"));
await attempt("file url", () => Deno.readTextFileSync(new URL("file://" + file)));
await attempt("dots", () => Deno.readTextFileSync("/dev/null/../.." + file));
return "end";
