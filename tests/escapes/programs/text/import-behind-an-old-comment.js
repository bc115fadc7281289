// name: import-behind-an-old-comment
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded: what can import can run any text
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
await attempt("hidden", () => import<!-- nothing to see
(`data:text/javascript,${signal.data.text}`));
