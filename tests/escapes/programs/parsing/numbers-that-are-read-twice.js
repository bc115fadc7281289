// name: numbers-that-are-read-twice
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: one infinite number among half a million, for which all are read again, does not hold up the host
// check: raised == "" and (truncated or not ok)
send('{"type":"__result__","value":[' + "0.1,".repeat(520_000) + "1e999]}\n");
await pause(2000);
