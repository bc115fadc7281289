// name: array-buffers
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: buffers outside of the heap count
// check: not ok and error in ("MemoryError", "RuntimeError", "CrashError") and peak_mb < memory_mb + 120
const kept = [];
for (;;) kept.push(new Uint8Array(8 << 20).fill(1));
