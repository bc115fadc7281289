// name: import-of-a-blob
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded: what can import can run any text
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
const url = URL.createObjectURL(new Blob([signal.data.text], { type: "text/javascript" }));
await attempt("blob", () => import(url));
