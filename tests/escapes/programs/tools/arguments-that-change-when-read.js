// name: arguments-that-change-when-read
// class: tools
// tier: isolated
// tools: strict
// timeout: 2
// expect: the arguments that are checked are the arguments that arrive
// check: all(name == "strict" and arguments == {"amount": 5} for name, arguments in calls)
let looks = 0;
const sly = { get amount() { return looks++ === 0 ? 5 : 5000; } };
try { await tools.strict(sly); } catch { /* refused is fine too */ }
return looks;
