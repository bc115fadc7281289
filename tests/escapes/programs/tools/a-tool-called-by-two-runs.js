// name: a-tool-called-by-two-runs
// class: tools
// tier: isolated
// tools: echo
// runs: 3
// timeout: 2
// expect: answers go to the run that asked: ids of one run mean nothing in another
// check: values == [{"pid": pid} for pid in [value["pid"] for value in values]] and len(set(value["pid"] for value in values)) == 3
return await tools.echo({ pid: Deno.pid });
