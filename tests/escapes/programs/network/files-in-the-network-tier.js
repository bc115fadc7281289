// name: files-in-the-network-tier
// class: network
// tier: network
// authority: yes
// uses: attempts
// timeout: 3
// expect: the network tier has no file
// check: ok and got == []
await attempt("readTextFile", () => Deno.readTextFile("@@SECRET@@"));
await attempt("fetch a file", async () => (await fetch("file://@@SECRET@@")).text());
await attempt("fetch a blob", async () => { await (await fetch(URL.createObjectURL(new Blob(["x"])))).text(); return false; });
await attempt("writeTextFile", () => { Deno.writeTextFileSync("@@CANARY@@/x", "x"); return "written"; });
return "end";
