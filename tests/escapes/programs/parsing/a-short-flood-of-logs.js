// name: a-short-flood-of-logs
// class: parsing
// tier: isolated
// uses: send
// timeout: 3
// alone: yes
// expect: many small frames are cut off by the limit on output while the host goes on
// check: not ok and error == "LimitError"
const lines = '{"type":"__output__","level":"log","data":"x"}\n'.repeat(5000);
for (;;) send(lines);
