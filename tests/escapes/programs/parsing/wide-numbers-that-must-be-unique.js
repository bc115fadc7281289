// name: wide-numbers-that-must-be-unique
// class: parsing
// tier: isolated
// timeout: 5
// tools: unique
// uses: send
// expect: integers that are one number to whoever compares them as fractions are refused, and not compared each with each
// check: called == []
// check: not ok or "53 bits" in str(value)
const numbers = [];
for (let n = 0; n < 90_000; n++) numbers.push(2n ** 62n + BigInt(n));
send(`{"type":"__tool_call__","call_id":"1","name":"unique","params":{"numbers":[${numbers.join()}]}}\n`);
try {
  return await tools.unique({ numbers: Array.from({ length: 20_000 }, (_, n) => 2 ** 62 + n * 1024) });
} catch (refusal) {
  return refusal.message;
}
