// name: files
// class: imports
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: no file of the host is loaded as a module, whatever its type is said to be
// check: ok and got == []
const file = "file://@@SECRET@@";
await attempt("text", async () => (await import("file://@@SECRET@@", { with: { type: "text" } })).default);
await attempt("bytes", async () => text((await import("file://@@SECRET@@", { with: { type: "bytes" } })).default));
await attempt("json", async () => (await import("file://@@SECRET@@", { with: { type: "json" } })).default);
await attempt("code", () => import("file://@@SECRET@@"));
await attempt("by variable", async () => (await import(file, { with: { type: "text" } })).default);
await attempt("relative", () => import("./etc/passwd", { with: { type: "text" } }));
await attempt("bare path", () => import("@@SECRET@@"));
await attempt("url object", () => import(new URL(file).href));
await attempt("resolve", () => { import.meta; return false; });
return "end";
