// name: subclasses-of-function
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: a class that extends a constructor of functions makes none
// check: ok and got == []
const name = ["con", "structor"].join("");
const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];

for (const kind of kinds) {
  await attempt(`extends ${kind}`, () => new (class extends kind[name] {})(signal.data.text));
  await attempt(`super ${kind}`, () => new (class extends kind[name] { constructor() { super(signal.data.text); } })());
  await attempt(`static super ${kind}`, () => (class extends kind[name] { static make() { return super[name](signal.data.text); } }).make());
  await attempt(`parent ${kind}`, () => Object.getPrototypeOf(class extends kind[name] {})(signal.data.text));
}
