// name: native-execve
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: with native calls at hand the process cannot become another program, by path or by descriptor
// check: got == [] and "replaced" not in text
// check: ok
const path = new TextEncoder().encode("/bin/echo\0"), word = new TextEncoder().encode('{"type":"__result__","value":"replaced"}\0');
const words = new BigUint64Array([0n, 0n, 0n]), nothing = new BigUint64Array([0n]);
await attempt("execve", () => { words[0] = pointer(path); words[1] = pointer(word); return `${sys(59, path, words, nothing)}`; });
await attempt("execveat", () => `${sys(322, -100, path, words, nothing, 0)}`);
await attempt("memfd", () => `${sys(319, "x", 0)}`);
await attempt("secret memory", () => `${sys(447, 0)}`);
return "end";
