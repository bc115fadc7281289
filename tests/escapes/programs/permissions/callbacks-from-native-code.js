// name: callbacks-from-native-code
// class: permissions
// tier: isolated
// authority: yes
// timeout: 3
// expect: a crash in native code is a crash of the process, and of nothing else
// check: not ok and error in ("CrashError", "PermissionError", "MemoryError")
Deno.dlopen("libc.so.6", { memcpy: { parameters: ["usize", "usize", "usize"], result: "pointer" } }).symbols.memcpy(8n, 16n, 64n);
await new Promise((resolve) => setTimeout(resolve, 2000));
return "alive";
