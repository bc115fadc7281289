// name: nesting-below-the-count
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: nesting that stays under the count of objects is parsed or refused, and the outcome can be written as JSON
// check: len(text) < 200000
send('{"type":"__result__","value":' + '{"a":'.repeat(20_000) + "1" + "}".repeat(20_000) + "}\n");
await pause(1000);
