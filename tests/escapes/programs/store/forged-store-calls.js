// name: forged-store-calls
// class: store
// tier: store
// runs: 12
// uses: send
// timeout: 2
// expect: a call of any other shape ends its run, and nothing of it is kept
// check: raised == "" and not ok and kept == {"runs": 1}
// check: error == "CrashError"
const runs = await store.get("runs");
if (runs === undefined) { await store.set("runs", 1); return; }
await store.set("lost", 1);
const shapes = [
  { operation: "clear", key: "a", value: null },
  { operation: "commit", key: "a", value: null },
  { operation: "__init__", key: "a", value: null },
  { operation: ["get"], key: "a", value: null },
  { operation: "get", key: null, value: null },
  { operation: "get", key: ["a"], value: null },
  { operation: "get", key: { a: 1 }, value: null },
  { operation: "get", key: "a" },
  { operation: "set", key: "a" },
  { operation: "get", key: "a", value: null, conversation: "other" },
  { operation: "set", key: "a", value: 1, changes: {} },
];
const shape = shapes[Math.floor(Math.random() * shapes.length)];
frame({ type: "__store__", call_id: "x", ...shape });
await pause(1500);
return "end";
