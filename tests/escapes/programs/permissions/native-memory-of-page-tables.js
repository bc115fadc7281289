// name: native-memory-of-page-tables
// class: permissions
// tier: isolated
// authority: yes
// uses: native
// timeout: 4
// alone: yes
// expect: the kernel's own memory for a process has a bound too
// check: error in ("MemoryError", "LimitError") or value.startswith("0 tables")
let tables = 0;
try {
  const size = 2 ** 38, at = sys(9, 0, size, 1, 0x4022, -1, 0); // private, anonymous, nothing reserved, to read only
  sys(28, at, size, 15); // no huge pages
  for (; tables < 2 ** 16; tables++) {
    sys(28, at + tables * 2 ** 21, 4096, 22); // one page of each table
    if (tables % 4096 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  }
} catch (refusal) {
  return `${tables} tables: ${refusal.message}`;
}
return "a quarter of a gigabyte";
