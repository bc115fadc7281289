// name: aborts-without-end
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a flood of aborts is ended by a limit or by the clock, and the host goes on
// check: not ok and error in ("LimitError", "TimeoutError", "CrashError")
const many = '{"type":"__abort__","call_id":"1"}\n'.repeat(2000);
for (;;) send(many);
