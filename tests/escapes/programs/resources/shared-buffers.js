// name: shared-buffers
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: shared buffers count
// check: not ok and peak_mb < memory_mb + 120
const kept = [];
for (;;) kept.push(new Uint8Array(new SharedArrayBuffer(8 << 20)).fill(1));
