// name: large-calls-in-a-row
// class: parsing
// tier: isolated
// tools: never
// uses: send
// timeout: 3
// alone: yes
// expect: calls whose arguments fill the host while they wait are limited together
// check: not ok and error in ("LimitError", "CrashError")
const filler = "[" + "0,".repeat(800_000) + "0]";
for (let n = 0; n < 60; n++) send(`{"type":"__tool_call__","call_id":"${n}","name":"never","params":{"a":${filler}}}\n`);
await pause(2000);
