// name: importing-outside-of-the-function
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
import vm from "node:vm";
console.log("GOT to run while it was loaded", vm);
export const other = async () => { _0: {
console.log("GOT", kept);
