// name: a-flood-of-failing-calls
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: calls of a tool that was never lent are counted like others, and are cut off
// check: not ok and error == "LimitError"
const lines = '{"type":"__tool_call__","call_id":"1","name":"none","params":{}}\n'.repeat(1000);
for (;;) send(lines);
