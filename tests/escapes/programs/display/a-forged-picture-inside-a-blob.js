// name: a-forged-picture-inside-a-blob
// class: display
// tier: isolated
// uses: send
// timeout: 3
// expect: a picture that claims a billion pixels does not pass as a blob
// check: not ok and error == "CrashError"
// check: displayed == []
const png = new Uint8Array(40);
png.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
frame({ type: "__display__", kind: "blob", title: "", data: `image/png;base64,${btoa(String.fromCharCode(...png))}` });
await pause(2000);
