// name: an-endless-tree
// class: values
// tier: isolated
// timeout: 2
// expect: a value that grows while it is read is refused by depth or count
// check: not ok and error in ("RuntimeError", "LimitError", "MemoryError")
const more = () => new Proxy({}, {
  ownKeys: () => ["a", "b"],
  getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
  get: (_, key) => typeof key === "string" && key.length === 1 ? more() : undefined,
});
return more();
