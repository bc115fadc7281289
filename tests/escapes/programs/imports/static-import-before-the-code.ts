// name: static-import-before-the-code
// class: imports
// tier: isolated
// authority: yes
// timeout: 2
// expect: a static import in the code is refused, and reads no file
// check: not ok
import leak from "file://@@SECRET@@" with { type: "text" };
const seen: string = leak;
return seen;
