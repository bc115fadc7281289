// name: signals-that-are-caught
// class: resources
// tier: isolated
// timeout: 1
// expect: a process that catches every signal it can is killed all the same
// check: not ok and error == "TimeoutError"
for (const name of ["SIGTERM", "SIGINT", "SIGHUP", "SIGXCPU", "SIGALRM", "SIGUSR1", "SIGQUIT", "SIGPIPE"]) {
  try { Deno.addSignalListener(name, () => {}); } catch { /* not that one */ }
}
for (;;);
