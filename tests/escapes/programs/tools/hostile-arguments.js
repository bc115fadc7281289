// name: hostile-arguments
// class: tools
// tier: isolated
// tools: echo
// timeout: 4
// expect: whatever is given as arguments reaches the tool as plain JSON or is refused; the host does not raise
// check: ok and len(value) == 10 and called.count("echo") == len(called)
const deep = (depth) => { let value = 1; for (let n = 0; n < depth; n++) value = [value]; return { value }; };
const tries = [JSON.parse('{"__proto__":{"x":1}}'), { s: "\ud800" }, { n: NaN }, { big: "x".repeat(1 << 20) }, deep(3000), deep(90), 5, [1], { b: 10n ** 3000n }, { f: () => 1 }];
const ends = [];
for (const arguments_ of tries) {
  try { ends.push(typeof await tools.echo(arguments_)); } catch (error) { ends.push(error.name); }
}
return ends;
