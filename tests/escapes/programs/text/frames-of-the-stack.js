// name: frames-of-the-stack
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the stack of an error holds no function of those that can still make code
// check: ok and got == []
Error.stackTraceLimit = 200;
Error.prepareStackTrace = (_, frames) => frames;
const frames = new Error("a").stack;
for (const frame of Array.isArray(frames) ? frames : []) {
  await attempt(`function of ${frame}`, () => frame.getFunction());
  await attempt(`this of ${frame}`, () => frame.getThis());
}
delete Error.prepareStackTrace;
function caller() { return caller.caller ?? arguments.callee.caller; }
await attempt("caller", caller);
await attempt("called with", () => Function.prototype.arguments);
