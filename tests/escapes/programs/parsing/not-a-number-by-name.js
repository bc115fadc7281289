// name: not-a-number-by-name
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: NaN and Infinity by name are not JSON
// check: not ok and error == "CrashError"
send('{"type":"__result__","value":[NaN,Infinity,-Infinity]}\n');
await pause(1000);
