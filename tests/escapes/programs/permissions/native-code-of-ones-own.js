// name: native-code-of-ones-own
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: code that is put into memory and run can do no more than any other
// check: got == [] and (ok or error == "CrashError")
await attempt("a system call by hand", () => {
  // mov eax, open; lea rdi, [rip + 9]; xor esi, esi; syscall; ret; then the path
  const path = new TextEncoder().encode("@@SECRET@@\0");
  const code = new Uint8Array([0xb8, 2, 0, 0, 0, 0x48, 0x8d, 0x3d, 5, 0, 0, 0, 0x31, 0xf6, 0x0f, 5, 0xc3, ...path]);
  const at = BigInt(sys(9, 0, 4096, 7, 0x22, -1, 0));
  libc({ memcpy: { parameters: ["usize", "buffer", "usize"], result: "pointer" } }).memcpy(at, code, BigInt(code.length));
  const result = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(at), { parameters: [], result: "i32" }).call();
  return result >= 0 && `opened ${result}`;
});
return "end";
