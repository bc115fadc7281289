// name: wasm-memory
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: WebAssembly memory counts
// check: not ok and peak_mb < memory_mb + 120
const kept = [];
for (;;) {
  const memory = new WebAssembly.Memory({ initial: 256 });
  new Uint8Array(memory.buffer).fill(1);
  kept.push(memory);
}
