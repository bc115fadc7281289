// name: no-utf-8-inside-a-text
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: bytes that are no text inside a text of a frame end the run as malformed
// check: not ok and error == "CrashError"
send(new Uint8Array([...new TextEncoder().encode('{"type":"__result__","value":"'), 0xed, 0xa0, 0x80, 34, 125, 10]));
await pause(1000);
