// name: every-console-method
// class: values
// tier: isolated
// timeout: 2
// expect: no method of console writes past the frames
// check: ok and value == "end"
for (const name of Object.keys(console)) {
  try { console[name]("a", { b: 1 }, '{"type":"__result__","value":"broken"}'); } catch { /* some take no arguments */ }
}
return "end";
