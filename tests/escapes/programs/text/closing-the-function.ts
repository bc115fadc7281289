// name: closing-the-function
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the code is not loaded, and nothing of it has run
// check: not ok and error in ("SyntaxError", "CrashError")
// check: got == []
const kept: unknown[] = [];
}};
globalThis.kept = (async () => {}).constructor;
console.log("GOT to run while it was loaded");
async () => {{
console.log("GOT", kept);
