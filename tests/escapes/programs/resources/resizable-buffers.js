// name: resizable-buffers
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: buffers that grow in place count when they are used
// check: not ok and peak_mb < memory_mb + 120
const kept = [];
for (;;) {
  const buffer = new ArrayBuffer(0, { maxByteLength: 64 << 20 });
  for (let size = 1 << 20; size <= 64 << 20; size += 1 << 20) {
    buffer.resize(size);
    new Uint8Array(buffer).fill(1);
  }
  kept.push(buffer);
}
