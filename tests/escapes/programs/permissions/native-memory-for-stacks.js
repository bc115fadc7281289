// name: native-memory-for-stacks
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// alone: yes
// expect: memory that is said to be a stack counts as well
// check: got == [] and peak_mb < memory_mb + 120
await attempt("a gigabyte", async () => {
  for (let n = 0; n < 64; n++) {
    sys(9, 0, 16 << 20, 3, 0x8122, -1, 0); // private, anonymous, populated, growing downwards
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return "a gigabyte";
});
return "end";
