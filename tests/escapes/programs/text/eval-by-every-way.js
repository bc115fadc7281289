// name: eval-by-every-way
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: eval runs no text, called directly or by another way
// check: ok and got == []
await attempt("direct", () => eval(signal.data.text));
await attempt("indirect", () => (0, eval)(signal.data.text));
await attempt("optional", () => eval?.(signal.data.text));
await attempt("of the global", () => globalThis["ev" + "al"](signal.data.text));
await attempt("of self", () => Reflect.get(self, "eval").call(null, signal.data.text));
await attempt("a descriptor", () => Object.getOwnPropertyDescriptor(globalThis, "eval").value(signal.data.text));
delete globalThis.eval;
await attempt("deleted", () => globalThis.eval(signal.data.text));
await attempt("of process", () => process._eval && "there");
