// name: a-worker-from-outside
// class: imports
// tier: isolated
// authority: yes
// timeout: 3
// expect: a worker is loaded from no server and no file
// check: (not ok or value in ("refused", "silence")) and hits == []
const seen = new Promise((resolve) => {
  for (const place of ["http://@@FORBIDDEN@@/worker.js", "file://@@SECRET@@"]) {
    const worker = new Worker(place, { type: "module" });
    worker.onmessage = () => resolve("loaded");
    worker.onerror = (event) => { event.preventDefault(); resolve("refused"); };
  }
  setTimeout(() => resolve("silence"), 1000);
});
return await seen;
