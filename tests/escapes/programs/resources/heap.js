// name: heap
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: objects without end are an error of memory, and the process stays near its limit
// check: not ok and error == "MemoryError" and peak_mb < memory_mb + 120
const kept = [];
for (;;) kept.push(new Array(65536).fill(kept.length));
