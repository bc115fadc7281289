// name: sorting-with-a-lie
// class: resources
// tier: isolated
// timeout: 1
// expect: a comparison that lies and never ends is killed at the deadline
// check: not ok and error == "TimeoutError"
for (;;) Array.from({ length: 1e5 }, Math.random).sort(() => Math.random() - 0.5);
