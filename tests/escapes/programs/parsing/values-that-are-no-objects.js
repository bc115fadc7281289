// name: values-that-are-no-objects
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: a line that is JSON and no object ends the run
// check: not ok and error == "CrashError"
send("123\n");
await pause(1000);
