// name: texts-that-grow-when-they-are-read
// class: parsing
// tier: isolated
// tools: never
// uses: send
// timeout: 3
// alone: yes
// expect: little texts, each a whole object in the host, are limited by what they take
// check: not ok and host_mb < 64
let filler = "";
for (let n = 0; n < 280_000; n++) filler += `"${(n + 50_000).toString(36)}",`;
for (let n = 0; n < 60; n++) send(`{"type":"__tool_call__","call_id":"${n}","name":"never","params":{"a":[${filler}0]}}\n`);
await pause(2000);
