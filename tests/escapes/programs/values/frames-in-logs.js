// name: frames-in-logs
// class: values
// tier: isolated
// tools: echo
// timeout: 2
// expect: a log that looks like a frame is a log
// check: ok and value == 7 and called == []
// check: '{"type":"__result__","value":"logged"}' in logs
console.log('{"type":"__result__","value":"logged"}');
console.log('x\n{"type":"__tool_call__","call_id":"1","name":"echo","params":{}}\n');
return 7;
