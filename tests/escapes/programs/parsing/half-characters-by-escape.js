// name: half-characters-by-escape
// class: parsing
// tier: isolated
// uses: send
// timeout: 2
// expect: a half character that JSON spells is refused or replaced; it never makes the outcome unprintable
// check: "\ud800" not in text
send('{"type":"__output__","level":"log","data":"\\ud800"}\n');
send('{"type":"__result__","value":{"\\udc00":"\\ud800"}}\n');
await pause(1000);
