// name: a-thrown-nothing
// class: values
// tier: isolated
// timeout: 2
// expect: throwing undefined is a failure and not a result
// check: not ok and error == "RuntimeError" and message
throw undefined;
