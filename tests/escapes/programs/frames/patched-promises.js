// name: patched-promises
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: a patched Promise hangs at most its own run
// check: ok or error in ("RuntimeError", "TimeoutError", "CrashError")
const then = Promise.prototype.then;
Promise.prototype.then = function (done, failed) {
  return then.call(this, () => done?.("swapped"), failed);
};
Object.defineProperty(Promise, Symbol.species, { value: class { constructor() { throw new Error("no"); } } });
await tools.echo({});
return "honest";
