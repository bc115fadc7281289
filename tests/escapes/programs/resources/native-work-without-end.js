// name: native-work-without-end
// class: resources
// tier: isolated
// timeout: 1
// expect: native work that V8 cannot interrupt is killed at the deadline, or runs out of memory
// check: not ok and error in ("TimeoutError", "MemoryError", "RuntimeError", "CrashError")
let number = 3n;
for (;;) number *= number;
