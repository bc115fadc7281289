// name: closed-errors
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: a run without a stderr goes on, or ends as its own fault
// check: ok and value == {"a": 1} or error in ("CrashError", "TimeoutError", "RuntimeError")
Deno[Deno.internal].core.tryClose(2);
return await tools.echo({ a: 1 });
