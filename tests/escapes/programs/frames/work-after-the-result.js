// name: work-after-the-result
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: once the run has answered, nothing that it left behind calls a tool
// check: ok and value == "done"
// check: len(called) <= 1
setInterval(() => tools.echo({ late: true }).catch(() => {}), 0);
return "done";
