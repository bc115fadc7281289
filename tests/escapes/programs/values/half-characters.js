// name: half-characters
// class: values
// tier: isolated
// timeout: 2
// expect: half of a surrogate pair, in a value, a key, a log or an error, is a replacement character and never an exception of the host
// check: not ok and error == "RuntimeError"
// check: "\ud800" not in text
console.log("\ud800", { ["\udc00"]: "\ud800" });
throw new Error("\udfff broken \ud800");
