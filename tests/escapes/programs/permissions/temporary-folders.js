// name: temporary-folders
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: caches and storages of the web platform leave nothing on the disk
// check: ok and got == [] and residue == []
await attempt("localStorage", () => { localStorage.setItem("x", "@@MARK@@"); return false; });
await attempt("caches", async () => { const cache = await caches.open("@@MARK@@"); await cache.put("http://x.test/", new Response("x")); return false; });
await attempt("tmpdir", async () => { const os = await import("node:os"); Deno.writeTextFileSync(os.tmpdir() + "/@@MARK@@", "x"); return "written"; });
await attempt("bundle", async () => { await Deno.bundle?.({ entrypoints: ["data:text/javascript,1"], outputDir: "@@CANARY@@" }); return false; });
return "end";
