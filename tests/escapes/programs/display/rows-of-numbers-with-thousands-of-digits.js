// name: rows-of-numbers-with-thousands-of-digits
// class: display
// tier: isolated
// uses: send
// timeout: 3
// expect: rows whose numbers take the host long to read end the run, before they are parsed
// check: not ok and error == "CrashError"
// check: displayed == []
const row = `{"a":${"9".repeat(4299)}},`;
frame({ type: "__display__", kind: "table", title: "", data: `[${row.repeat(400)}{}]` });
await pause(2000);
