// name: tools-of-other-runs
// class: leaks
// tier: isolated
// tools: echo
// timeout: 2
// expect: the manifest of the run names only what it was lent
// check: ok and value == [["echo"], {"given": "context"}]
return [Object.keys(tools), context];
