// name: links-of-ones-own
// class: workspace
// tier: workspace
// commit: yes
// uses: attempts
// timeout: 4
// expect: the code can make no link, symbolic or hard
// check: ok and got == [] and canary == []
await attempt("symlink", () => Deno.symlink("@@SECRET@@", "/workspace/mine").then(() => "made"));
await attempt("symlinkSync", () => { Deno.symlinkSync("@@CANARY@@", "mine"); return "made"; });
await attempt("link", () => Deno.link("@@SECRET@@", "/workspace/mine").then(() => "made"));
const fs = await import("node:fs");
await attempt("node symlink", () => { fs.symlinkSync("@@SECRET@@", "@@WS@@/mine"); return "made"; });
await attempt("node link", () => { fs.linkSync("@@SECRET@@", "@@WS@@/mine"); return "made"; });
return "end";
