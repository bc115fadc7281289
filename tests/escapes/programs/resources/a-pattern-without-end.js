// name: a-pattern-without-end
// class: resources
// tier: isolated
// timeout: 1
// expect: a pattern that backtracks for years is killed at the deadline
// check: not ok and error == "TimeoutError"
return /^(a|a|aa)+$/.test("a".repeat(60) + "!");
