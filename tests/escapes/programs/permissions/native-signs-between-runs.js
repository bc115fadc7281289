// name: native-signs-between-runs
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: what two runs have mapped of the same file is not a way for them to wake each other, nor are locks on it
// check: ok and got == []
await attempt("a wake", () => {
  const at = sys(9, 0, 4096, 1, 2, sys(2, "/deno", 0), 0);
  return `${sys(202, at + 64, 1, 1, 0, 0, 0)}`;
});
await attempt("a lock", () => `${sys(72, sys(2, "/deno", 0), 6, new BigInt64Array(4))}`);
await attempt("flock", () => `${sys(73, sys(2, "/deno", 0), 1)}`);
return "end";
