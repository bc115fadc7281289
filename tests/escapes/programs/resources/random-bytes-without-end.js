// name: random-bytes-without-end
// class: resources
// tier: isolated
// timeout: 1
// expect: work in native threads ends with the run
// check: not ok and error == "TimeoutError"
const { pbkdf2, scrypt } = await import("node:crypto");
for (let n = 0; n < 8; n++) pbkdf2("x", "y", 2 ** 30, 64, "sha512", () => {});
await new Promise(() => {});
