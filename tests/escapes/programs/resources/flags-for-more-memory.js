// name: flags-for-more-memory
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: V8's flags, set from inside, do not lift the limit
// check: not ok and error == "MemoryError" and peak_mb < memory_mb + 120
const { setFlagsFromString } = await import("node:v8");
for (const flag of ["--max-old-space-size=8000", "--max-heap-size=8000", "--single-threaded"]) {
  try { setFlagsFromString(flag); } catch { /* not that one */ }
}
const kept = [];
for (;;) kept.push(new Array(65536).fill(1.5));
