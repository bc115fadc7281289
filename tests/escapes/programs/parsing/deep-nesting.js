// name: deep-nesting
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: a hundred thousand brackets do not exhaust the stack of the host
// check: not ok and error in ("CrashError", "LimitError")
send('{"type":"__result__","value":' + "[".repeat(100_000) + "]".repeat(100_000) + "}\n");
await pause(1000);
