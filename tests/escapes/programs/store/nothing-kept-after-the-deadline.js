// name: nothing-kept-after-the-deadline
// class: store
// tier: store
// timeout: 1
// expect: a run that is killed keeps nothing
// check: not ok and kept == {}
await store.set("n", 1);
for (;;);
