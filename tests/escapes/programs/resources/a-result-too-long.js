// name: a-result-too-long
// class: resources
// tier: isolated
// timeout: 3
// expect: a long result is cut, and its size is said
// check: ok and truncated and len(text) < 100000
return Array.from({ length: 100_000 }, (_, n) => n);
