// name: a-result-of-ten-megabytes
// class: workflows
// tier: isolated
// timeout: 4
// alone: yes
// expect: a result that is too long is an error, and none of it is saved or told
// check: got == [] and len(text) < 2000000
return { state: { large: "x".repeat(10 * 1024 * 1024) } };
