// name: ordinary-store
// class: store
// tier: store
// runs: 2
// timeout: 3
// expect: what one run keeps is there for the next of its conversation
// check: values == [1, 2] and kept == {"n": 2}
const n = ((await store.get("n")) ?? 0) + 1;
await store.set("n", n);
return n;
