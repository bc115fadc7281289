// name: an-array-of-a-thousand-million
// class: values
// tier: isolated
// timeout: 3
// expect: an array that is all length is an error at once
// check: not ok and error in ("RuntimeError", "LimitError", "MemoryError")
return new Array(1e9);
