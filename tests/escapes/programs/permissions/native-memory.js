// name: native-memory
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// alone: yes
// expect: memory taken from the kernel directly counts as well
// check: got == [] and peak_mb < memory_mb + 120
await attempt("a gigabyte", () => {
  for (let n = 0; n < 64; n++) sys(9, 0, 16 << 20, 3, 0x8022, -1, 0); // private, anonymous, populated
  return "a gigabyte";
});
return "end";
