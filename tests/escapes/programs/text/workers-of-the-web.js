// name: workers-of-the-web
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no worker runs a text, wherever it comes from
// check: ok and got == []
const code = `postMessage(${signal.data.text})`;
const heard = (worker) => new Promise((resolve, reject) => { worker.onmessage = () => resolve("it ran"); worker.onerror = reject; });
await attempt("data", () => heard(new Worker(`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" })));
await attempt("blob", () => heard(new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), { type: "module" })));
await attempt("global", () => heard(new globalThis["Wor" + "ker"](`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" })));
await attempt("shared", () => heard(new SharedWorker(`data:text/javascript,${encodeURIComponent(code)}`).port));
await attempt("of threads", () => new (process.getBuiltinModule("worker_threads").Worker)(code, { eval: true }) && "it ran");
