// name: a-forged-picture-that-is-none
// class: display
// tier: isolated
// uses: send
// timeout: 3
// expect: a frame that calls anything a picture ends the run
// check: not ok and error == "CrashError"
// check: displayed == []
frame({ type: "__display__", kind: "png", title: "", data: btoa("#!/bin/sh\nrm -rf /") });
await pause(2000);
