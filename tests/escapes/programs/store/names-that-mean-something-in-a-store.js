// name: names-that-mean-something-in-a-store
// class: store
// tier: store
// authority: yes
// timeout: 4
// expect: names of prototypes and of paths are keys like any other, and pollute and reach nothing
// check: ok and value == 0 and canary == []
// check: len(kept) == 11 and "__proto__" in kept and "../canary/x" in kept and "/etc/passwd" in kept
const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "../canary/x", "@@CANARY@@/x", "/etc/passwd", "a\0b", "values", "revision"];
let wrong = 0;
for (const key of names) await store.set(key, JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'));
for (const key of names) {
  const value = await store.get(key);
  if (!Object.hasOwn(value, "__proto__") || value.polluted !== undefined) wrong++;
}
if (({}).polluted !== undefined || [].polluted !== undefined || (await store.keys()).length !== names.length) wrong++;
return wrong;
