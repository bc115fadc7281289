// name: half-a-frame
// class: frames
// tier: isolated
// uses: send
// timeout: 1
// expect: a frame without an end is waited for until the deadline and no longer
// check: not ok and error == "TimeoutError"
send('{"type":"__result__","val');
for (;;) await pause(50);
