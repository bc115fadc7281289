// name: processes
// class: persistence
// tier: isolated
// runs: 3
// timeout: 2
// expect: every run has a process of its own
// check: len(set(values)) == 3
return Deno.pid;
