// name: becoming-someone-else
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: user, group, priority and mask stay as they are
// check: ok and got == []
const { default: process } = await import("node:process");
const os = await import("node:os");
await attempt("setuid", () => { process.setuid(process.getuid() === 0 ? 65534 : 0); return "changed"; });
await attempt("seteuid", () => { process.seteuid(0); process.setegid(0); return process.geteuid() === 0 && process.getuid() !== 0 && "changed"; });
await attempt("setgroups", () => { process.setgroups([0]); return "changed"; });
await attempt("priority of the parent", () => { os.setPriority(Deno.ppid || 1, 0); return "changed"; });
await attempt("priority of the host", () => { os.setPriority(Number("@@HOST@@"), 0); return "changed"; });
await attempt("priority upwards", () => { os.setPriority(0, -20); return "changed"; });
return "end";
