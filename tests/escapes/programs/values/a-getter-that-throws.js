// name: a-getter-that-throws
// class: values
// tier: isolated
// timeout: 2
// expect: a value that cannot be read is an error that says where
// check: not ok and "boom" in message and ".deep" in message
return { deep: { get x() { throw new Error("boom"); } } };
