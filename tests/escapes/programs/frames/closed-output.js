// name: closed-output
// class: frames
// tier: isolated
// timeout: 2
// expect: a run that closes its output has no result, and the host neither hangs nor raises
// check: not ok and error in ("CrashError", "TimeoutError")
const core = Deno[Deno.internal].core;
core.tryClose(1);
core.close?.(1);
return "after";
