// name: native-other-architecture
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: the system calls of another architecture are no way around the filter
// check: got == [] and (ok or error == "CrashError")
await attempt("numbers of x32", () => `${sys(0x40000000 + 41, 2, 1, 0)}`);
await attempt("opening a file in x32", () => `${sys(0x40000000 + 2, "@@SECRET@@", 0)}`);
await attempt("a call of i386", () => {
  // push rbx; mov eax, socket; mov ebx, AF_INET; mov ecx, SOCK_STREAM; xor edx, edx; int 0x80; pop rbx; ret
  const code = new Uint8Array([0x53, 0xb8, 0x67, 1, 0, 0, 0xbb, 2, 0, 0, 0, 0xb9, 1, 0, 0, 0, 0x31, 0xd2, 0xcd, 0x80, 0x5b, 0xc3]);
  const at = BigInt(sys(9, 0, 4096, 7, 0x22, -1, 0));
  libc({ memcpy: { parameters: ["usize", "buffer", "usize"], result: "pointer" } }).memcpy(at, code, BigInt(code.length));
  const result = new Deno.UnsafeFnPointer(Deno.UnsafePointer.create(at), { parameters: [], result: "i32" }).call();
  return result >= 0 && `socket ${result}`;
});
return "end";
