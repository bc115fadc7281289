// name: threads-left-behind
// class: persistence
// tier: isolated
// authority: yes
// runs: 2
// timeout: 3
// expect: what a run has started goes on in no later run
// check: ok or error in ("MemoryError", "CrashError", "PermissionError", "RuntimeError")
try { new Worker("data:text/javascript,for(;;);", { type: "module" }); } catch { /* not possible either */ }
setInterval(() => {}, 1);
return "left";
