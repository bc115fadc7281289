// name: everything-that-can-be-reached
// class: text
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 10
// expect: nothing that can be reached from the globals makes code of a text
// check: ok and got == []
const seen = new Set(), queue = [];
const add = (value) => { if ((typeof value === "object" && value !== null || typeof value === "function") && !seen.has(value)) { seen.add(value); queue.push(value); } };
[globalThis, signal, state, emit, () => {}, async () => {}, function* () {}, async function* () {}, (function* () {})(), (async function* () {})()].forEach(add);
while (queue.length > 0) {
  const each = queue.pop();
  let keys = [];
  try { keys = Reflect.ownKeys(each); add(Object.getPrototypeOf(each)); } catch { /* a proxy that refuses */ }
  for (const key of keys) {
    const property = Object.getOwnPropertyDescriptor(each, key);
    if (property === undefined) continue;
    for (const found of [property.value, property.get, property.set]) add(found);
    if (property.get && !/Storage|caches/.test(String(key))) try { const got = property.get.call(each); add(got); if (got instanceof Promise) got.catch(() => {}); } catch { /* of another object */ }
  }
}
if (seen.size < 2000) console.log(`GOT to see only ${seen.size}`);
const KINDS = /^(Async|Generator|AsyncGenerator)?Function$|^(eval|compileFunction|evalContext|runIn.*|getBuiltinModule|createRequire|createContext|Script|Worker|instantiate.*|compile(Streaming)?)$/;
for (const each of seen) {
  let name = "";
  try { name = String(each.name); } catch { /* of another object */ }
  if (typeof each !== "function" || each === RegExp.prototype.compile || !KINDS.test(name)) continue;
  try { each(signal.data.text); console.log(`GOT ${name}`); } catch (refusal) { if (refusal.name !== "EvalError") console.log(`GOT ${name}: ${refusal}`); }
}
