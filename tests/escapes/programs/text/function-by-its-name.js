// name: function-by-its-name
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: the name Function leads to no code, wherever it stands
// check: ok and got == []
for (const [where, place] of Object.entries({ globalThis, self, global, own: this ?? {} })) {
  await attempt(where, () => new place["Func" + "tion"](`return ${signal.data.text}`)());
}
await attempt("bare", () => Function(`return ${signal.data.text}`)());
await attempt("as a tag", () => Function`return 42`());
await attempt("parameters", () => new Function("a", "b", `return ${signal.data.text}`)());
await attempt("default of a parameter", () => new Function(`a = ${signal.data.text}`, "return a")());
