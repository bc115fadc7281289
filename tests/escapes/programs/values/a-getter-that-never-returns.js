// name: a-getter-that-never-returns
// class: values
// tier: isolated
// timeout: 1
// expect: code hidden in a getter of the result has the run's time and no more
// check: not ok and error == "TimeoutError"
return { get x() { for (;;); } };
