// name: waiting-on-shared-memory
// class: resources
// tier: isolated
// timeout: 1
// expect: a thread that waits for ever in the kernel is killed at the deadline
// check: not ok and error in ("TimeoutError", "RuntimeError")
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
return "woken";
