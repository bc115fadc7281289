// name: one-call-id-for-many-calls
// class: frames
// tier: isolated
// tools: echo, never
// uses: send
// timeout: 2
// expect: calls that share an id are answered or end with the run; none confuses the host's books
// check: ok and value == "end"
// check: set(called) <= {"echo", "never"} and len(called) == 40
for (let n = 0; n < 40; n++) frame({ type: "__tool_call__", call_id: "1", name: n % 2 ? "echo" : "never", params: {} });
await pause(300);
return "end";
