// name: arguments-for-a-strict-schema
// class: parsing
// tier: isolated
// tools: strict
// uses: send
// timeout: 3
// alone: yes
// expect: arguments that break a schema two hundred thousand times are refused without holding up the host
// check: raised == "" and called == []
let keys = "";
for (let n = 0; n < 220_000; n++) keys += `"${n.toString(36)}":0,`;
send(`{"type":"__tool_call__","call_id":"1","name":"strict","params":{${keys}"end":0}}\n`);
await pause(500);
return "end";
