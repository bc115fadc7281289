// name: as-many-keys-as-arguments
// class: parsing
// tier: isolated
// tools: echo
// uses: send
// timeout: 3
// alone: yes
// expect: arguments of two hundred thousand keys, read, checked and sent back, do not hold up the host
// check: raised == ""
let keys = "";
for (let n = 0; n < 220_000; n++) keys += `"${n.toString(36)}":0,`;
send(`{"type":"__tool_call__","call_id":"1","name":"echo","params":{${keys}"end":0}}\n`);
await pause(500);
return "end";
