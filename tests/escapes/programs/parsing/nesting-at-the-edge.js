// name: nesting-at-the-edge
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: whatever depth the parser lets through, everything after it can bear too
// check: raised == "" and (ok or error in ("CrashError", "LimitError"))
for (const depth of [150, 190, 199, 200, 201]) {
  send('{"type":"__tool_call__","call_id":"1","name":"none","params":' + "[".repeat(depth) + "]".repeat(depth) + "}\n");
}
send('{"type":"__result__","value":' + "[".repeat(195) + "]".repeat(195) + "}\n");
await pause(1000);
