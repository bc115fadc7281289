// name: a-tool-result-to-oneself
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: answers that the code invents for its own calls stay its own; the host runs the call that it was asked for
// check: ok and value == {"a": 1} and called == ["echo"]
const stolen = Object.getOwnPropertyNames(globalThis).filter((name) => name.startsWith("__"));
for (const name of stolen) globalThis[name] = () => "stolen";
return await tools.echo({ a: 1 });
