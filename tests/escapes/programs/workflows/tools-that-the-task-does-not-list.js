// name: tools-that-the-task-does-not-list
// class: workflows
// tier: isolated
// uses: attempts
// timeout: 4
// expect: code of a task calls no tool that the task does not list, by whatever name: not those of other tasks either
// check: ok and got == [] and called == []
const names = ["admin", "echo", "core.execute", "core.plan", "workflow.decide", "workflow_start", "core_execute"];
for (const name of names) {
  await attempt(`tools["${name}"]`, () => tools[name]({ value: 1 }));
  await attempt(`tools.${name}`, () => name.split(".").reduce((at, step) => at[step], tools)({ value: 1 }));
}
return Object.keys(tools);
