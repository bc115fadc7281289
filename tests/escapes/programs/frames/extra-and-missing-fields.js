// name: extra-and-missing-fields
// class: frames
// tier: isolated
// tools: echo
// uses: send
// timeout: 2
// expect: a call with a field too many is no frame at all
// check: not ok and error == "CrashError"
// check: called == []
frame({ type: "__tool_call__", call_id: "1", name: "echo", params: {}, as: "root", granted: ["admin"] });
await pause(1000);
