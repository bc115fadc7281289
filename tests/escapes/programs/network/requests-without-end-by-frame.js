// name: requests-without-end-by-frame
// class: network
// tier: network
// uses: send
// timeout: 3
// alone: yes
// expect: requests forged without end are cut off by a limit, or by the clock, while the host goes on
// check: not ok and error in ("LimitError", "TimeoutError") and len(asked) <= 50
const lines = '{"type":"__fetch__","call_id":"1","url":"http://@@ALLOWED@@/ok","method":"GET","headers":[],"body":null,"redirect":"follow"}\n'.repeat(400);
for (;;) send(lines);
