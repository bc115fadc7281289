// name: a-job-from-inside
// class: later
// tier: isolated
// tools: core.execute, echo
// uses: attempts
// timeout: 2
// expect: code starts no job and looks at none: the tool that does is lent to nobody, by whatever name
// check: ok and got == [] and called == []
const job = "job-" + "0".repeat(32);
await attempt("start", () => tools.core.execute({ code: "return 1", later: true }));
await attempt("look", () => tools["core.execute"]({ job }));
await attempt("wire name", () => tools.core_execute({ job, cancel: true }));
return Object.keys(tools);
