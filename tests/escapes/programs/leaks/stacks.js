// name: stacks
// class: leaks
// tier: isolated
// timeout: 2
// expect: stacks name the code's own lines and no path of the machine
// check: "/root" not in text and "/home" not in text and "/work" not in text and ".venv" not in text
const seen = [new Error("x").stack];
Error.prepareStackTrace = (_, sites) => { seen.push(sites.map((site) => [site.getFileName(), site.getScriptNameOrSourceURL?.(), site.getEvalOrigin()].map((word) => String(word).slice(0, 60)))); return ""; };
new Error("y").stack;
delete Error.prepareStackTrace;
try { Deno.readTextFileSync("/x"); } catch (refusal) { seen.push(refusal.stack); }
return seen;
