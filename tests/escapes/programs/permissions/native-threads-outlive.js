// name: native-threads-outlive
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 1
// expect: a process that ignores every signal and sleeps in the kernel ends with its run
// check: not ok
for (let signal = 1; signal < 64; signal++) {
  try { sys(13, signal, new BigUint64Array([1n, 0x4000000n, 0n, 0n]), 0, 8); } catch { /* not that one */ }
}
for (;;) {
  try { sys(34); } catch { await new Promise((resolve) => setTimeout(resolve, 50)); }
}
