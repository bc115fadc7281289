// name: a-second-ready
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a process cannot say ready twice and be taken for a fresh one
// check: not ok and error == "CrashError" and "ready" in message
frame({ type: "__ready__", protocol: 1, deno: "2.9.8" });
await pause(1000);
return "used twice";
