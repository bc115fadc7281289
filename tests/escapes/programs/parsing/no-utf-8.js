// name: no-utf-8
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: bytes that are no text end the run as malformed
// check: not ok and error == "CrashError"
send(new Uint8Array([123, 0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80, 125, 10, 0xf4, 0x90, 0x80, 0x80, 10]));
await pause(1000);
