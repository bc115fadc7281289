// name: a-forged-sound-that-is-a-page
// class: display
// tier: isolated
// uses: send
// timeout: 3
// expect: a frame that calls a page a sound ends the run
// check: not ok and error == "CrashError"
// check: displayed == []
frame({ type: "__display__", kind: "audio", title: "", data: `text/html;base64,${btoa("<script>alert(1)</script>")}` });
await pause(2000);
