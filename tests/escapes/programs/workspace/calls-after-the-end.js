// name: calls-after-the-end
// class: workspace
// tier: workspace
// commit: yes
// uses: send
// timeout: 3
// expect: a call that arrives together with the result changes nothing that the caller reviews
// check: ok and "late.txt" not in files and ("added", "late.txt") not in changes
send('{"type":"__result__","value":"end"}\n{"type":"__file__","call_id":"9","operation":"writeFile","params":{"path":"late.txt","data":"eA==","append":false,"create":true,"create_new":false}}\n');
await pause(500);
