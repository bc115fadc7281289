// name: nothing-kept-after-the-result
// class: store
// tier: store
// uses: send
// timeout: 3
// expect: what is asked after the end of a run is not done
// check: raised == "" and value == "forged" and "late" not in kept and kept["early"] == 1
await store.set("early", 1);
send('{"type":"__result__","value":"forged"}\n{"type":"__store__","call_id":"9","operation":"set","key":"late","value":1}\n');
for (let n = 0; n < 50; n++) frame({ type: "__store__", call_id: `l${n}`, operation: "set", key: "late", value: n });
await pause(500);
