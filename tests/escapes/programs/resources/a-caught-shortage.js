// name: a-caught-shortage
// class: resources
// tier: isolated
// timeout: 3
// expect: catching the error does not lift the limit
// check: peak_mb < memory_mb + 120
const kept = [];
for (let round = 0; round < 20; round++) {
  try {
    for (;;) kept.push(new ArrayBuffer(16 << 20));
  } catch { /* and again */ }
}
return kept.length;
