// name: a-worker-says-why-there-is-none
// class: resources
// tier: isolated
// timeout: 4
// expect: who starts a thread is told that there are none, and not that the memory is used up
// check: not ok and error == "MemoryError" and "Workers are not available" in message
const { Worker } = await import("node:worker_threads");
new Worker("1", { eval: true });
await new Promise(() => {});
