// name: facts-of-the-system
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// needs: root, namespaces
// timeout: 4
// expect: the names of machine and user, its addresses and its processes stay unknown
// check: ok and got == []
const os = await import("node:os");
const { default: process } = await import("node:process");
await attempt("hostname", () => { const name = Deno.hostname(); return name !== "localhost" && name !== "sandbox" && name !== "(none)" && name; });
await attempt("networkInterfaces", () => Deno.networkInterfaces().filter((one) => one.name !== "lo").map((one) => one.address).join() || false);
await attempt("node networkInterfaces", () => Object.keys(os.networkInterfaces()).filter((name) => name !== "lo").join() || false);
await attempt("userInfo", () => os.userInfo().username);
await attempt("homedir", () => { const home = os.homedir(); return home !== "/" && home; });
await attempt("processes of others", () => { if (process.getegid?.() === undefined) throw new Error("no"); return Deno.readTextFileSync("/proc/1/status"); });
await attempt("cgroup", () => Deno.readTextFileSync("/proc/self/cgroup"));
return "end";
