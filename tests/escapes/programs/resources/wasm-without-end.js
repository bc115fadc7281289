// name: wasm-without-end
// class: resources
// tier: isolated
// timeout: 1
// expect: a loop in WebAssembly is killed at the deadline
// check: not ok and error == "TimeoutError"
const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]);
new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f();
return "back";
