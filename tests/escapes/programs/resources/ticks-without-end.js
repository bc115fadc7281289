// name: ticks-without-end
// class: resources
// tier: isolated
// timeout: 1
// expect: ticks without end are killed at the deadline
// check: not ok and error == "TimeoutError"
const { nextTick } = await import("node:process");
const again = () => nextTick(again);
again();
await new Promise(() => {});
