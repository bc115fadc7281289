// name: globals
// class: persistence
// tier: isolated
// runs: 3
// timeout: 2
// expect: globals, prototypes and modules changed by one run are fresh in the next
// check: values == ["clean", "clean", "clean"]
const seen = globalThis.planted ?? Object.prototype.planted ?? Array.prototype.planted ?? (Math.max(1, 2) === 2 ? "clean" : "patched");
globalThis.planted = Object.prototype.planted = Array.prototype.planted = "SEEN";
Math.max = () => 0;
return seen;
