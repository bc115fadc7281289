// name: an-endless-iterator-in-a-map
// class: values
// tier: isolated
// timeout: 1
// expect: a patched iterator of Map spins in its own time
// check: ok or error in ("RuntimeError", "TimeoutError", "MemoryError", "LimitError", "CrashError")
Map.prototype.entries = function* () { for (;;) yield ["k", 1]; };
Map.prototype[Symbol.iterator] = Map.prototype.entries;
return new Map([["a", 1]]);
