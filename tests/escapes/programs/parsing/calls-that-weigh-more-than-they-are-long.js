// name: calls-that-weigh-more-than-they-are-long
// class: parsing
// tier: isolated
// timeout: 5
// alone: yes
// tools: never
// uses: send
// expect: calls that wait for an answer are counted by the memory that they take, and not by their bytes
// check: not ok and error == "LimitError"
const little = "{},".repeat(16_000) + "{}";
for (let n = 0; n < 160; n++) {
  send(`{"type":"__tool_call__","call_id":"${n}","name":"never","params":{"x":[${little}]}}\n`);
}
await new Promise(() => {});
