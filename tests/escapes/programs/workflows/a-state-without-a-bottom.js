// name: a-state-without-a-bottom
// class: workflows
// tier: isolated
// timeout: 4
// expect: a state that is nested very deeply is an error of the task that returned it, and of nothing else
// check: got == []
let state = {};
for (let n = 0; n < 5_000; n++) state = { state };
return { state };
