// name: a-flood-of-store-calls
// class: store
// tier: store
// uses: send
// timeout: 6
// expect: calls without end end the run, and what it set before is not kept
// check: raised == "" and not ok and kept == {}
await store.set("first", 1);
for (let n = 0; n < 100_000; n++) frame({ type: "__store__", call_id: `s${n}`, operation: "set", key: "n", value: n });
await pause(5000);
return "end";
