// name: patched-everything
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: with every built-in method replaced the run still ends with an answer or an error, and no other tool runs
// check: set(called) <= {"echo"}
for (const maker of [Array, Map, Set, Uint8Array, TextEncoder, TextDecoder, String, RegExp, Function]) {
  for (const name of Object.getOwnPropertyNames(maker.prototype)) {
    if (name === "constructor") continue;
    try { maker.prototype[name] = () => "admin"; } catch { /* a getter */ }
  }
}
return tools.echo({ a: 1 });
