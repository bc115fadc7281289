// name: listeners-of-the-harness
// class: frames
// tier: isolated
// timeout: 2
// expect: events that the code sends to the harness's own listeners give an answer or an error, never a hang of the host
// check: ok or error in ("RuntimeError", "CrashError", "TimeoutError")
dispatchEvent(new ErrorEvent("error", { error: new Error("made up"), cancelable: true }));
dispatchEvent(new Event("beforeunload", { cancelable: true }));
dispatchEvent(new PromiseRejectionEvent("unhandledrejection", { promise: Promise.resolve(), reason: "x" }));
return "after";
