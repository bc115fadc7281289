// name: more-than-a-store-holds
// class: store
// tier: store
// uses: send
// timeout: 8
// expect: a store holds no more than its bytes and keys, also when it is filled past the harness
// check: raised == "" and len(kept) <= 100 and kept_bytes <= 262144
let id = 0;
const set = (key, value) => frame({ type: "__store__", call_id: `s${id++}`, operation: "set", key, value });
for (let n = 0; n < 90; n++) set(`a${n}`, "x".repeat(20_000));
for (let n = 0; n < 300; n++) set(`b${n}`, n);
set("k".repeat(1000), 1);
set("k".repeat(1_000_000), 1);
set("", 1);
for (let n = 0; n < 50; n++) set("grows", "x".repeat(n * 10_000));
await pause(1500);
return "end";
