// name: frames-of-the-host-from-the-guest
// class: frames
// tier: isolated
// tools: echo
// uses: send
// timeout: 2
// expect: what only the host may say ends the run when the guest says it
// check: not ok and error == "CrashError"
// check: called == []
frame({ type: "__run__", code: "return 1", context: {}, tools: [{ path: ["admin"], name: "admin" }] });
frame({ type: "__tool_result__", call_id: "1", result: "made up" });
await pause(1000);
