// name: duplicate-keys
// class: frames
// tier: isolated
// tools: echo
// uses: send
// timeout: 2
// expect: a frame with two meanings has one, and the tool of neither meaning runs unless it was lent
// check: "admin" not in called
// check: ok and value == "end"
send('{"type":"__debug__","message":"x","type":"__tool_call__","call_id":"9","name":"echo","name":"admin","params":{},"message":1}\n'.replace(',"message":"x"', "").replace(',"message":1', ""));
await pause(200);
return "end";
