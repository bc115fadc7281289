// name: makers-behind-iterators
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: what the engine hands out leads to no constructor that works
// check: ok and got == []
const name = ["con", "structor"].join("");

const things = [[].values(), new Map().entries(), "a".matchAll(/a/g), (function* () {})(), (async function* () {})(), new ReadableStream().values(),
  new Headers().entries(), new URLSearchParams().keys(), Iterator.from([]).map(String), new Intl.Segmenter().segment("a")[Symbol.iterator](),
  Promise.withResolvers().resolve, Proxy.revocable({}, {}).revoke, new AbortController().signal, new TextDecoder(), crypto.subtle, performance, console];
for (const thing of things) {
  for (let each = thing; each; each = Object.getPrototypeOf(each)) {
    for (const key of Reflect.ownKeys(each)) {
      const { value, get } = Object.getOwnPropertyDescriptor(each, key);
      for (const found of [value, get]) {
        if (typeof found !== "function") continue;
        await attempt(`${String(key)}`, () => found[name] !== found && Object.getPrototypeOf(found)[name](`return ${signal.data.text}`)());
      }
    }
  }
}
