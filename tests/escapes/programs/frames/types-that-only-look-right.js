// name: types-that-only-look-right
// class: frames
// tier: isolated
// tools: echo
// uses: send
// timeout: 2
// expect: fields of another kind are refused before they are used
// check: not ok and error == "CrashError"
// check: called == []
frame({ type: "__tool_call__", call_id: ["1"], name: { toString: "admin" }, params: {} });
await pause(1000);
