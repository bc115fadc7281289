// name: native-memory-that-is-shared
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// alone: yes
// expect: memory that could be shared counts as well
// check: got == [] and peak_mb < memory_mb + 120
await attempt("a gigabyte", () => {
  for (let n = 0; n < 64; n++) sys(9, 0, 16 << 20, 3, 0x8021, -1, 0); // shared, anonymous, populated
  return "a gigabyte";
});
return "end";
