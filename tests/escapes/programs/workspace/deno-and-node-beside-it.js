// name: deno-and-node-beside-it
// class: workspace
// tier: workspace
// authority: yes
// uses: attempts
// timeout: 4
// expect: the real folder is reached through the host and in no other way
// check: ok and got == [] and files["kept.txt"] == "kept"
const fs = await import("node:fs");
await attempt("node read", () => fs.readFileSync("@@WS@@/kept.txt", "utf8"));
await attempt("node write", () => { fs.writeFileSync("@@WS@@/mine", "x"); return "written"; });
await attempt("open", () => { Deno.openSync("@@WS@@/kept.txt"); return "opened"; });
await attempt("chmod", () => { Deno.chmodSync("@@WS@@/kept.txt", 0); return "changed"; });
await attempt("utime", () => { Deno.utimeSync("@@WS@@/kept.txt", 1, 1); return "changed"; });
await attempt("truncate", () => { Deno.truncateSync("@@WS@@/kept.txt"); return "changed"; });
await attempt("import", () => import("file://@@WS@@/kept.txt", { with: { type: "text" } }));
return "end";
