// name: constructor-of-an-async-function
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the text of a signal does not become code by the constructor of an async function
// check: ok and got == []
await attempt("concatenated", () => Object.getPrototypeOf(async () => {})["con" + "structor"](`return ${signal.data.text}`)());
await attempt("as a template", () => (async () => {})[`${"con"}structor`](`return ${signal.data.text}`)());
await attempt("in pieces", () => new (async () => {})[["con", "structor"].join("")](`return ${signal.data.text}`)());
await attempt("by an escape", () => (async () => {}).constr\u0075ctor(`return ${signal.data.text}`)());
await attempt("from the signal", () => (async () => {})[signal.data.name](`return ${signal.data.text}`)());
