// name: a-bigint-of-a-million-digits
// class: values
// tier: isolated
// timeout: 2
// expect: a number that takes the host seconds to read is refused in words
// check: not ok and error in ("RuntimeError", "LimitError", "CrashError")
return 7n ** 400000n;
