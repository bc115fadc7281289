// name: a-getter-that-calls-a-tool
// class: values
// tier: isolated
// tools: echo
// timeout: 2
// expect: a tool call from inside the result's getter is counted or dropped, and the result is whole
// check: ok and value == {"x": 1}
// check: len(called) <= 1
return { get x() { tools.echo({}).catch(() => {}); return 1; } };
