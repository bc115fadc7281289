// name: a-flood-of-file-calls
// class: workspace
// tier: workspace
// uses: send
// timeout: 4
// alone: yes
// expect: file calls by the ten thousand end at a limit while the host goes on
// check: not ok and raised == ""
const lines = '{"type":"__file__","call_id":"1","operation":"stat","params":{"path":"kept.txt"}}\n'.repeat(500);
for (;;) send(lines);
