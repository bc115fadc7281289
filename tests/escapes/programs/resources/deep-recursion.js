// name: deep-recursion
// class: resources
// tier: isolated
// timeout: 2
// expect: a stack without end is the code's own error
// check: not ok and error in ("RuntimeError", "CrashError", "MemoryError")
const down = () => down() + 1;
return down();
