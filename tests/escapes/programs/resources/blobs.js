// name: blobs
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: blobs, which live outside of V8, count
// check: not ok and peak_mb < memory_mb + 120
const kept = [];
const part = new Uint8Array(4 << 20).fill(1);
for (;;) kept.push(new Blob([part]));
