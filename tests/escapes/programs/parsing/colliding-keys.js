// name: colliding-keys
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: integers and keys chosen to collide in a table do not hold up the host
// check: raised == ""
const modulus = 2n ** 61n - 1n;
let keys = "";
for (let n = 1n; n < 30_000n; n++) keys += `"${n * modulus}":${n * modulus},`;
send(`{"type":"__result__","value":{${keys}"end":0}}\n`);
await pause(2000);
