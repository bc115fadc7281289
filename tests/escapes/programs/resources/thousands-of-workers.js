// name: thousands-of-workers
// class: resources
// tier: isolated
// authority: yes
// timeout: 3
// alone: yes
// expect: threads by the hundred are refused, or held by the limit of memory, and die with the run
// check: ok or error in ("MemoryError", "RuntimeError", "PermissionError", "CrashError", "TimeoutError")
// check: peak_mb < memory_mb + 300
const started = [];
for (let n = 0; n < 200; n++) {
  started.push(new Worker("data:text/javascript,for(;;);", { type: "module" }));
}
await new Promise((resolve) => setTimeout(resolve, 1500));
return started.length;
