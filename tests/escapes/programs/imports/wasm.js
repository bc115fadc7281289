// name: wasm
// class: imports
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: WebAssembly that imports gets at no file and no module from outside
// check: ok and got == [] and hits == []
await attempt("wasm file", () => import("file://@@SECRET@@?x.wasm"));
await attempt("streaming", () => WebAssembly.compileStreaming(fetch("http://@@FORBIDDEN@@/x.wasm")));
await attempt("streaming a file", () => WebAssembly.compileStreaming(fetch("file://@@SECRET@@")));
const importing = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 2, 11, 1, 6, 110, 111, 100, 101, 58, 102, 1, 120, 0, 0]);
await attempt("wasm that imports", () => import("data:application/wasm;base64," + btoa(String.fromCharCode(...importing))));
return "end";
