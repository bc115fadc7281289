// name: microtasks-without-end
// class: resources
// tier: isolated
// timeout: 1
// expect: microtasks that starve every timer of the guest do not starve the host's clock
// check: not ok and error == "TimeoutError"
const again = () => queueMicrotask(again);
again();
await new Promise(() => {});
