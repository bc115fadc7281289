// name: the-next-process
// class: persistence
// tier: isolated
// authority: yes
// runs: 2
// timeout: 3
// uses: attempts
// expect: a run reaches no process that waits for another run
// check: got == [] and ok
const { default: process } = await import("node:process");
let reached = 0;
for (let pid = Math.max(2, Deno.pid - 40); pid < Deno.pid + 40; pid++) {
  if (pid === Deno.pid) continue;
  try { process.kill(pid, 0); reached++; } catch { /* good */ }
}
await attempt("neighbours", () => reached ? `${reached} processes` : false);
return "end";
