// name: native-programs
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand nothing can be started
// check: ok and got == []
const nothing = new BigUint64Array([0n]);
const system = () => libc({ system: { parameters: ["buffer"], result: "i32" } }).system(new TextEncoder().encode("exit 7\0"));
await attempt("system", () => { const status = system(); if (status === -1 || status === 127 << 8) throw new Error("not started"); return `${status}`; });
await attempt("popen", () => { const { popen } = libc({ popen: { parameters: ["buffer", "buffer"], result: "pointer" } }); return popen(new TextEncoder().encode("true\0"), new TextEncoder().encode("r\0")) && "started"; });
await attempt("posix_spawn", () => { const { posix_spawn } = libc({ posix_spawn: { parameters: ["buffer", "buffer", "pointer", "pointer", "buffer", "buffer"], result: "i32" } }); const path = new TextEncoder().encode("/bin/true\0"); const words = new BigUint64Array([pointer(path), 0n]); return posix_spawn(new Uint8Array(4), path, null, null, words, nothing) === 0 && "started"; });
await attempt("fork", () => { const pid = sys(57); if (pid === 0) sys(60, 0); return `${pid}`; });
await attempt("clone", () => { const pid = sys(56, 17, 0, 0, 0, 0); if (pid === 0) sys(60, 0); return `${pid}`; });
await attempt("clone3", () => { const pid = sys(435, new BigUint64Array([0n, 0n, 0n, 0n, 17n, 0n, 0n, 0n]), 64); if (pid === 0) sys(60, 0); return `${pid}`; });
await attempt("execve of nothing", () => `${sys(59, "/no/such/file", nothing, nothing)}`);
return "end";
