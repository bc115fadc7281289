// name: abort
// class: frames
// tier: isolated
// timeout: 2
// expect: an abort is a crash without a core file
// check: not ok and error == "CrashError"
const { default: process } = await import("node:process");
process.abort();
