// name: exponents-made-to-be-slow
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// expect: numbers with huge exponents are null and cheap
// check: raised == ""
send('{"type":"__result__","value":[' + "1e999999999,".repeat(100_000) + "0]}\n");
await pause(2000);
