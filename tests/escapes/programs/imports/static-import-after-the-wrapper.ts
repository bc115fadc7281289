// name: static-import-after-the-wrapper
// class: imports
// tier: isolated
// authority: yes
// timeout: 2
// expect: a static import beside the wrapper, with the wrapper's own end mark, reads no file
// check: not ok or value == 1
const x: number = 1; return x; void "end of code";}
import leak from "file://@@SECRET@@" with { type: "text" };
console.log(leak); export function more(): void { void "end of code";
