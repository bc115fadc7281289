// name: a-tool-swapped-for-another
// class: tools
// tier: isolated
// tools: echo
// timeout: 2
// expect: the tools that were lent cannot be replaced, extended or renamed
// check: ok and value == [True, True, True] and called == ["echo"]
"use strict";
const refused = (action) => { try { action(); return false; } catch { return true; } };
const results = [
  refused(() => tools.echo = () => "mine"),
  refused(() => tools.admin = tools.echo),
  refused(() => delete tools.echo),
];
await tools.echo({});
return results;
