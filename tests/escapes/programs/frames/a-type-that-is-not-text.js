// name: a-type-that-is-not-text
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a type that cannot be a key of a table does not raise in the host
// check: not ok and error == "CrashError"
frame({ type: ["__result__"], value: 1 });
await pause(1000);
