// name: import-of-node
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded: what can import can run any text
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
const vm = await import("node:vm");
await attempt("vm", () => vm.runInThisContext(signal.data.text));
