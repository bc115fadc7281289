// name: calls-just-before-the-end
// class: workspace
// tier: workspace
// commit: yes
// uses: send
// timeout: 3
// expect: what is committed is exactly what was listed for review
// check: ok and all(name in files for kind, name in changes if kind == "added") and ("late.txt" in files) == (("added", "late.txt") in changes)
send('{"type":"__file__","call_id":"9","operation":"writeFile","params":{"path":"late.txt","data":"eA==","append":false,"create":true,"create_new":false}}\n{"type":"__result__","value":"end"}\n');
await pause(500);
