// name: a-proxy-that-lies
// class: values
// tier: isolated
// timeout: 2
// expect: a proxy that gives other keys at every look ends as a value or an error
// check: ok or error in ("RuntimeError", "TimeoutError", "MemoryError", "LimitError", "CrashError")
let looks = 0;
return new Proxy({}, {
  ownKeys: () => Array.from({ length: ++looks * 10 }, (_, n) => `k${n}-${looks}`),
  getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
  get: (_, key) => key === "toJSON" ? undefined : looks < 50 ? new Proxy({}, {}) : 1,
});
