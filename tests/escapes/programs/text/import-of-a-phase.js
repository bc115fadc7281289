// name: import-of-a-phase
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded: what can import can run any text
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
await attempt("source", () => import.source(`data:text/javascript,${signal.data.text}`));
await attempt("deferred", () => import.defer(`data:text/javascript,${signal.data.text}`));
