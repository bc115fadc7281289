// name: values-that-are-slow-to-keep
// class: store
// tier: store
// runs: 2
// uses: send
// timeout: 10
// expect: values of many little parts hold up nobody, when they are kept and when they are read again
// check: raised == "" and kept_bytes <= 262144
if ((await store.keys()).length > 0) return (await store.get("flat")).length;
let id = 0;
const raw = (key, json) => send(`{"type":"__store__","call_id":"s${id++}","operation":"set","key":"${key}","value":${json}}\n`);
await store.set("flat", new Array(40_000).fill(0).map(() => []));
raw("numbers", `[${new Array(60_000).fill("1").join(",")}]`);
raw("deep", "[".repeat(150) + "]".repeat(150));
raw("exponents", `[${new Array(2000).fill("1e-320").join(",")}]`);
raw("huge", `[1e999,-1e999]`);
await pause(1000);
return "kept";
