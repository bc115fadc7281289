// name: key-value-store
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: no store on the disk and none in the network opens
// check: ok and got == [] and hits == []
await attempt("default", async () => { const store = await Deno.openKv(); await store.set(["x"], 1); return "opened"; });
await attempt("path", async () => { const store = await Deno.openKv("@@CANARY@@/kv"); await store.set(["x"], 1); return "opened"; });
await attempt("remote", async () => { const store = await Deno.openKv("http://@@FORBIDDEN@@/kv"); await store.get(["x"]); return "opened"; });
await attempt("cron", () => { if (!Deno.cron) throw new Error("none"); Deno.cron("x", "* * * * *", () => {}); return false; });
return "end";
