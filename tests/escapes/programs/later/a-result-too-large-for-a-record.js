// name: a-result-too-large-for-a-record
// class: later
// tier: isolated
// timeout: 5
// expect: what a job returns and prints is bounded, like that of any run
// check: raised == "" and len(text) < 5_000_000
for (let n = 0; n < 5_000; n++) console.log(`${n} ${"é".repeat(1_000)}`);
return { deep: "\u0000\u202e\n".repeat(300_000), rows: Array.from({ length: 50_000 }, (_, n) => ({ n })) };
