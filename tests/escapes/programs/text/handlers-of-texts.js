// name: handlers-of-texts
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no handler of an event takes a text for code
// check: got == []
const wait = () => new Promise((resolve) => setTimeout(resolve, 20, false));
const target = new EventTarget();
await attempt("listener", () => { target.addEventListener("a", signal.data.text); target.dispatchEvent(new Event("a")); return wait(); });
for (const name of ["onerror", "onload", "onunload", "onbeforeunload", "onunhandledrejection"]) {
  await attempt(name, () => { globalThis[name] = signal.data.text; dispatchEvent(new Event(name.slice(2), { cancelable: true })); return wait(); });
  globalThis[name] = null;
}
await attempt("port", () => { const { port1, port2 } = new MessageChannel(); port1.onmessage = signal.data.text; port2.postMessage(1); return wait().finally(() => port1.close()); });
await attempt("abort", () => { const control = new AbortController(); control.signal.onabort = signal.data.text; control.abort(); return wait(); });
await attempt("toString", () => `${{ toString: signal.data.text }}`);
await attempt("then", async () => typeof (await { then: signal.data.text }) === "number" && "called");
