// name: an-abort-for-what-was-never-asked
// class: frames
// tier: isolated
// tools: echo, never
// uses: send
// timeout: 2
// expect: aborting a call of nobody, a tool call, or the same one twice neither raises nor cancels another run's work
// check: raised == ""
// check: ok or error in ("CrashError", "LimitError")
frame({ type: "__abort__", call_id: "no such" });
tools.never({}).catch(() => {});
frame({ type: "__abort__", call_id: "1" });
frame({ type: "__abort__", call_id: "1" });
await pause(200);
return await tools.echo({ still: "here" });
