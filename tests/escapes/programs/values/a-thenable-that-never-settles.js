// name: a-thenable-that-never-settles
// class: values
// tier: isolated
// timeout: 1
// expect: a promise of nothing is answered at the deadline
// check: not ok and error == "TimeoutError"
return { then() {} };
