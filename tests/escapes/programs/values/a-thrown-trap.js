// name: a-thrown-trap
// class: values
// tier: isolated
// timeout: 2
// expect: a thrown value whose every part throws is still an error
// check: not ok and error == "RuntimeError" and message
throw new Proxy({}, { get() { throw "a"; }, has() { throw "b"; }, getPrototypeOf() { throw "c"; }, ownKeys() { throw "d"; } });
