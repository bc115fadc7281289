// name: white-space-and-marks
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: a byte order mark, carriage returns and zero bytes make no frame
// check: not ok and error == "CrashError"
send('\ufeff{"type":"__result__","value":1}\r\n');
await pause(1000);
