// name: as-many-keys-as-a-frame-holds
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: one object of two hundred thousand keys is read or refused without holding up the host
// check: raised == "" and (truncated or not ok)
let keys = "";
for (let n = 0; n < 220_000; n++) keys += `"${n.toString(36)}":0,`;
send(`{"type":"__result__","value":{${keys}"end":0}}\n`);
await pause(2000);
