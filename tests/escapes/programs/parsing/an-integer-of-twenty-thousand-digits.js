// name: an-integer-of-twenty-thousand-digits
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: an integer that Python refuses to read or to write does not raise in the host
// check: len(text) < 100000 and raised == ""
send(`{"type":"__result__","value":${"9".repeat(20_000)}}\n`);
await pause(1000);
