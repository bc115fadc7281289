// name: more-calls-than-allowed
// class: tools
// tier: isolated
// tools: echo
// timeout: 5
// expect: the count of calls ends the run, and no call beyond it reaches a tool
// check: not ok and error == "LimitError" and len(called) <= 250
await Promise.all(Array.from({ length: 2000 }, (_, n) => tools.echo({ n }).catch(() => {})));
return "all";
