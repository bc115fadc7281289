// name: arguments-that-do-not-fit
// class: tools
// tier: isolated
// tools: strict
// uses: send, attempts
// timeout: 3
// expect: arguments that do not fit the schema never reach the tool, by call or by frame
// check: ok and got == [] and called == []
for (const bad of [{}, { amount: 11 }, { amount: "5" }, { amount: 5, more: 1 }, { amount: 1e400 }, { amount: 5.5 }, [], null, "x", { __proto__: { amount: 5 } }]) {
  await attempt(JSON.stringify(bad) ?? "none", () => tools.strict(bad));
}
frame({ type: "__tool_call__", call_id: "f1", name: "strict", params: { amount: 99 } });
frame({ type: "__tool_call__", call_id: "f2", name: "strict", params: null });
send('{"type":"__tool_call__","call_id":"f3","name":"strict","params":{"amount":99,"amount":[1]}}\n');
await pause(200);
return "end";
