// name: import-of-data
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded: what can import can run any text
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
return await import(`data:text/javascript,${encodeURIComponent(signal.data.text)}`);
