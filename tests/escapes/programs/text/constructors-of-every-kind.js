// name: constructors-of-every-kind
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: no kind of function makes another of a text
// check: ok and got == []
const name = ["con", "structor"].join("");
const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];

for (const kind of kinds) {
  await attempt(`called ${kind}`, async () => (await kind[name](`return ${signal.data.text}`)()) ?? "a function");
  await attempt(`new ${kind}`, () => new kind[name](signal.data.text));
  await attempt(`of its prototype ${kind}`, () => Object.getPrototypeOf(kind)[name](signal.data.text));
  await attempt(`above it ${kind}`, () => Object.getPrototypeOf(Object.getPrototypeOf(kind))[name] !== Object && Object.getPrototypeOf(Object.getPrototypeOf(kind))[name](signal.data.text));
  await attempt(`of the constructor ${kind}`, () => kind[name][name](signal.data.text));
  await attempt(`above the constructor ${kind}`, () => Object.getPrototypeOf(kind[name])(signal.data.text));
}
for (const method of [{ f() {} }.f, { async f() {} }.f, class { static f() {} }.f, Math.max, emit, tools.echo, fetch, setTimeout]) {
  await attempt(`of a method ${method?.name}`, () => method[name](signal.data.text));
}
