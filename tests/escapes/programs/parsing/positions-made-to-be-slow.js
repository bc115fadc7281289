// name: positions-made-to-be-slow
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// expect: a forged stack that is made for the host's patterns is trimmed without holding it up
// check: not ok and len(text) < 60000
const stack = ("    at " + "a (".repeat(150) + "code.js, <anonymous>:1:1\n").repeat(1500);
frame({ type: "__error__", phase: "run", name: "E", message: "data:application/typescript;base64,".repeat(20_000), stack });
await pause(2000);
