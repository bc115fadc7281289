// name: a-string-too-long
// class: resources
// tier: isolated
// timeout: 3
// expect: a text of half a gigabyte is refused or cut, and costs the host nothing
// check: (ok and truncated) or error in ("RuntimeError", "MemoryError", "LimitError", "CrashError")
return "x".repeat(2 ** 29 - 24);
