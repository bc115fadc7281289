// name: a-killed-guest-leaves-no-answer
// class: frames
// tier: isolated
// tools: never
// timeout: 2
// expect: a process that kills itself during a call is a crash at once, and the call ends with it
// check: not ok and error == "CrashError"
tools.never({}).catch(() => {});
await new Promise((resolve) => setTimeout(resolve, 50));
Deno.kill(Deno.pid, "SIGKILL");
await new Promise(() => {});
