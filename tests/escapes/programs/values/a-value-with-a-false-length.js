// name: a-value-with-a-false-length
// class: values
// tier: isolated
// timeout: 2
// expect: an object that claims to be an endless array is not iterated for ever
// check: ok or error in ("RuntimeError", "TimeoutError", "LimitError")
return { length: 2 ** 53, *[Symbol.iterator]() { for (;;) yield 1; }, toString: () => "array" };
