// name: constructors-restored
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: what is closed cannot be opened again: the originals are nowhere
// check: ok and got == []
const name = ["con", "structor"].join("");
const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];

for (const kind of kinds) {
  const prototype = Object.getPrototypeOf(kind);
  const before = prototype[name];
  await attempt(`deleted ${kind}`, () => (delete prototype[name], kind[name] !== before && kind[name] !== Object && kind[name](signal.data.text)));
  await attempt(`looked up ${kind}`, () => prototype.__lookupGetter__(name)?.call(kind)(signal.data.text));
  await attempt(`properties ${kind}`, () => Reflect.ownKeys(before).map((key) => before[key]).find((each) => typeof each === "function" && each !== prototype));
}
await attempt("species", () => (class extends Promise { static get [Symbol.species]() { return (async () => {})[name]; } }).resolve(signal.data.text).then(() => {}).then(() => false));
