// name: empty-lines
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: a million empty lines end the run or cost nothing
// check: not ok and error in ("CrashError", "LimitError")
send("\n".repeat(1 << 20));
await pause(1000);
