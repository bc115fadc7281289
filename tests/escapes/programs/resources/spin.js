// name: spin
// class: resources
// tier: isolated
// timeout: 1
// expect: a loop without end is killed at the deadline
// check: not ok and error == "TimeoutError"
for (;;);
