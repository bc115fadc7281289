// name: a-state-of-a-hundred-thousand-keys
// class: workflows
// tier: isolated
// timeout: 4
// alone: yes
// expect: a state of very many small values is bounded, and folding it does not hold up the host
// check: got == []
const state = {};
for (let n = 0; n < 100_000; n++) state["k" + n] = n % 10;
return { state, messages: Array.from({ length: 50_000 }, () => 0) };
