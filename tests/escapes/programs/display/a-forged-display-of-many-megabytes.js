// name: a-forged-display-of-many-megabytes
// class: display
// tier: isolated
// uses: send
// timeout: 5
// expect: the bytes of all displays are bounded on the host
// check: not ok and error == "LimitError"
// check: sum(size for _, _, size in displayed) <= 4194304
const data = "x".repeat(1_500_000);
for (let n = 0; n < 10; n++) frame({ type: "__display__", kind: "markdown", title: "", data });
await pause(3000);
