// name: half-a-frame-then-death
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a frame that was cut off by the death of its process is no frame
// check: not ok and error == "CrashError"
send('{"type":"__result__","value":"half"}');
Deno.exit(0);
