// name: programs-with-node
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 6
// expect: Node starts no program and turns into none
// check: ok and got == []
const child = await import("node:child_process");
await attempt("execSync", () => String(child.execSync("echo started")));
await attempt("execFileSync", () => String(child.execFileSync("/bin/echo", ["started"])));
await attempt("spawnSync", () => { const done = child.spawnSync("/bin/echo", ["started"]); if (!done.pid) throw done.error ?? new Error("not started"); return String(done.stdout); });
await attempt("spawn", () => happens(child.spawn("/bin/true"), "spawn", "exit"));
await attempt("spawn in a shell", () => happens(child.spawn("true", { shell: true }), "spawn"));
await attempt("spawn detached", () => happens(child.spawn("/bin/true", { detached: true, stdio: "ignore" }), "spawn"));
await attempt("exec", () => new Promise((resolve, reject) => child.exec("echo started", (error, out) => error ? reject(error) : resolve(out))));
await attempt("fork", () => happens(child.fork("data:text/javascript,1"), "spawn", "message"));
const cluster = await import("node:cluster");
await attempt("cluster", () => happens(cluster.default.fork(), "online"));
return "end";
