// name: blobs-of-more-bytes-than-allowed
// class: display
// tier: isolated
// timeout: 5
// expect: sounds and blobs count towards the bytes that a run may display
// check: not ok and error == "LimitError"
// check: sum(size for _, _, size in displayed) <= 4 * 1024 * 1024
// check: 0 < len(displayed) < 10
const data = new Uint8Array(1024 * 1024);
for (let n = 0; n < 10; n++) display({ type: n % 2 ? "audio" : "blob", mimeType: n % 2 ? "audio/wav" : "a/b", data });
