// name: reflect-construct
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: Reflect makes no function of a text
// check: ok and got == []
const name = ["con", "structor"].join("");
const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];

for (const kind of kinds) {
  await attempt(`construct ${kind}`, () => Reflect.construct(kind[name], [signal.data.text]));
  await attempt(`for another ${kind}`, () => Reflect.construct(kind[name], [signal.data.text], Object));
  await attempt(`as another ${kind}`, () => typeof Reflect.construct(Object, [signal.data.text], kind[name]) === "function" && "a function");
  await attempt(`apply ${kind}`, () => Reflect.apply(kind[name], null, [signal.data.text]));
  await attempt(`get ${kind}`, () => Reflect.get(kind, name)(signal.data.text));
}
