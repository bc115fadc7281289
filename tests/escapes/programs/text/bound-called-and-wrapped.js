// name: bound-called-and-wrapped
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: neither bind, call, apply nor a proxy opens a constructor again
// check: ok and got == []
const name = ["con", "structor"].join("");
const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];

for (const kind of kinds) {
  const maker = kind[name];
  await attempt(`bind ${kind}`, () => maker.bind(null, signal.data.text)());
  await attempt(`new bind ${kind}`, () => new (maker.bind(null, signal.data.text))());
  await attempt(`call ${kind}`, () => maker.call(globalThis, signal.data.text));
  await attempt(`apply ${kind}`, () => maker.apply(undefined, [signal.data.text]));
  await attempt(`proxy ${kind}`, () => new (new Proxy(maker, {}))(signal.data.text));
  await attempt(`uncurried ${kind}`, () => Function.prototype.call.call(maker, null, signal.data.text));
  await attempt(`as a callback ${kind}`, () => [signal.data.text].map(maker)[0]);
  await attempt(`as a replacer ${kind}`, () => "x".replace("x", () => maker(signal.data.text)));
  await attempt(`then ${kind}`, () => Promise.resolve(signal.data.text).then(maker));
}
