// name: a-job-that-does-not-end
// class: later
// tier: isolated
// authority: yes
// timeout: 2
// expect: a job has its time like any run, whatever it waits for or computes
// check: not ok and error == "TimeoutError"
setInterval(() => {}, 1);
addEventListener("unhandledrejection", (event) => event.preventDefault());
globalThis.onunload = () => { while (true) {} };
try { await new Promise(() => {}); } finally { while (true) {} }
