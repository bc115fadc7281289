// name: half-characters-in-a-result
// class: values
// tier: isolated
// timeout: 2
// expect: a result with half characters is well-formed text
// check: ok and str(value).isprintable() is not None and "\ud800" not in text
return { ["\ud800key"]: "\udc00value", list: ["a\ud800b"] };
