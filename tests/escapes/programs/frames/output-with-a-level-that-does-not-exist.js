// name: output-with-a-level-that-does-not-exist
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a log of an unknown level ends the run as malformed
// check: not ok and error == "CrashError"
frame({ type: "__output__", level: "root", data: "x" });
await pause(1000);
