// name: the-parents-identity
// class: leaks
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 2
// expect: what is said of the parent leads to nothing that can be read
// check: ok and got == []
await attempt("name of the parent", () => Deno.readTextFileSync(`/proc/${Deno.ppid}/comm`));
await attempt("status of the parent", () => Deno.readTextFileSync(`/proc/${Deno.ppid}/status`));
await attempt("name of the host", () => Deno.readTextFileSync("/proc/@@HOST@@/comm"));
await attempt("user of the host", () => `${Deno.statSync("/proc/@@HOST@@").uid}`);
await attempt("list of processes", () => [...Deno.readDirSync("/proc")].filter((entry) => /^\d+$/.test(entry.name)).map((entry) => entry.name).join() || false);
return "end";
