// name: inspector
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: no debugger listens, and none attaches to another process
// check: ok and got == [] and hits == []
const inspector = await import("node:inspector");
const { default: process } = await import("node:process");
await attempt("open", () => { inspector.open(0, "127.0.0.1"); return inspector.url() ?? false; });
await attempt("debug the host", () => { process._debugProcess(Number("@@HOST@@")); return "asked"; });
await attempt("SIGUSR1 to oneself", async () => { Deno.addSignalListener("SIGUSR1", () => {}); Deno.kill(Deno.pid, "SIGUSR1"); await new Promise((resolve) => setTimeout(resolve, 200)); return inspector.url?.() ?? false; });
return "end";
