// name: signals
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 4
// expect: no other process can be signalled, nor asked whether it is there
// check: ok and got == []
const { default: process } = await import("node:process");
const others = { parent: Deno.ppid, host: Number("@@HOST@@"), first: 1, "all others": -1, "the host's group": -Number("@@HOST@@"), "the parent's group": -Deno.ppid };
for (const [name, pid] of Object.entries(others)) {
  await attempt(`process.kill ${name}`, () => { if (pid) process.kill(pid, 0); else throw new Error("not visible"); return "reached"; });
  await attempt(`Deno.kill ${name}`, () => { if (pid && pid !== -1) Deno.kill(pid, "SIGCONT"); else throw new Error("not visible"); return "reached"; });
}
await attempt("SIGUSR2 to the host", () => { Deno.kill(Number("@@HOST@@"), "SIGUSR2"); return "sent"; });
return "end";
