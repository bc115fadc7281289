// name: an-error-with-a-path-of-the-machine
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a forged error cannot make the host read or show a file that its stack names
// check: not ok
frame({ type: "__error__", phase: "compile", name: "SyntaxError", message: "Unexpected token at file://@@SECRET@@:1:1", stack: "SyntaxError\n    at file://@@SECRET@@:1:1\n    at code.js, <anonymous>:1:1" });
await pause(1000);
