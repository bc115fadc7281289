// name: node-worker-threads
// class: permissions
// tier: isolated
// authority: yes
// timeout: 4
// expect: Node's worker threads have no more rights than their run
// check: "THERE" not in text and (ok or error in ("MemoryError", "CrashError", "RuntimeError"))
const { Worker } = await import("node:worker_threads");
const source = `const { parentPort } = require("node:worker_threads"); const fs = require("node:fs");
  let seen; try { seen = fs.readFileSync("@@SECRET@@", "utf8") + "THERE" } catch (refusal) { seen = refusal.code } parentPort.postMessage(seen)`;
return await new Promise((resolve) => {
  try {
    const worker = new Worker(source, { eval: true, env: {}, resourceLimits: {} });
    worker.on("message", resolve);
    worker.on("error", (refusal) => resolve(refusal.name));
  } catch (refusal) {
    resolve(refusal.name);
  }
  setTimeout(() => resolve("silence"), 1500);
});
