// name: nothing-kept-after-a-failure
// class: store
// tier: store
// runs: 3
// timeout: 2
// expect: a run that throws keeps nothing, however often it is tried
// check: not ok and kept == {}
await store.set("n", ((await store.get("n")) ?? 0) + 1);
store.set("m", 1);
throw new Error("no");
