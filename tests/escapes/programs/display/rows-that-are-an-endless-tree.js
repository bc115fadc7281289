// name: rows-that-are-an-endless-tree
// class: display
// tier: isolated
// uses: send
// timeout: 3
// expect: rows with more values than the host reads end the run, before they are parsed
// check: not ok and error == "CrashError"
// check: displayed == []
frame({ type: "__display__", kind: "table", title: "", data: `[${"{},".repeat(400_000)}{}]` });
await pause(2000);
