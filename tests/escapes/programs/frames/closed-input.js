// name: closed-input
// class: frames
// tier: isolated
// tools: big
// timeout: 2
// expect: a run that closes its input while large answers are due ends as its own fault
// check: not ok and error != "TimeoutError"
tools.big({ size: 4 << 20 }).catch(() => {});
Deno[Deno.internal].core.tryClose(0);
await tools.big({ size: 4 << 20 });
return "after";
