// name: import-in-typescript
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded: what can import can run any text
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
const url: string = `data:text/javascript,${signal.data.text}`;
await attempt("typed", () => import(url as string));
