// name: a-process-that-stops-itself
// class: resources
// tier: isolated
// authority: yes
// timeout: 1
// expect: a stopped process is killed at the deadline
// check: not ok and error in ("TimeoutError", "PermissionError", "CrashError")
Deno.kill(Deno.pid, "SIGSTOP");
await new Promise(() => {});
