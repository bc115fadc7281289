// name: forged-results-of-other-tasks
// class: workflows
// tier: isolated
// timeout: 3
// expect: a task changes neither the results of others nor what others find as context, whatever it returns as state
// check: ok and got == []
context.victim = "forged";
if (context.given) context.given = "forged";
globalThis.context = { victim: "forged" };
Object.prototype.victim = "forged";
const forged = { victim: "forged", after: "forged", input: "forged", context: { victim: "forged" }, ok: false };
return JSON.parse(JSON.stringify({ tasks: forged, context: forged, decisions: forged, state: forged }).replaceAll(
  '"input":',
  '"__proto__":{"victim":"forged"},"constructor":{"prototype":{"victim":"forged"}},"input":',
));
