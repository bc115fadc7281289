// name: an-error-of-many-megabytes
// class: values
// tier: isolated
// timeout: 3
// expect: an error that is too long is cut
// check: not ok and len(text) < 60000
const error = new Error("m".repeat(20 << 20));
error.stack = "s\n    at ".repeat(1 << 20);
error.name = "n".repeat(1 << 20);
throw error;
