// name: memory-from-a-hundred-timers
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: memory taken in small steps, with the event loop running, ends in the same way
// check: not ok and error in ("MemoryError", "RuntimeError", "CrashError") and peak_mb < memory_mb + 120
const kept = [];
for (let n = 0; n < 100; n++) setInterval(() => kept.push(new Uint8Array(1 << 18).fill(1)), 0);
await new Promise(() => {});
