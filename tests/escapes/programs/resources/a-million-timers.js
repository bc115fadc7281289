// name: a-million-timers
// class: resources
// tier: isolated
// timeout: 2
// expect: timers by the million are the guest's own load
// check: ok or error in ("TimeoutError", "MemoryError", "CrashError")
for (let n = 0; n < 1e6; n++) setTimeout(() => {}, 1e6);
return "set";
