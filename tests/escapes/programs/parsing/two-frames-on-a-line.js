// name: two-frames-on-a-line
// class: parsing
// tier: isolated
// tools: echo
// uses: send
// timeout: 2
// expect: two frames on one line are none
// check: not ok and error == "CrashError" and called == []
send('{"type":"__tool_call__","call_id":"1","name":"echo","params":{}} {"type":"__result__","value":1}\n');
await pause(1000);
