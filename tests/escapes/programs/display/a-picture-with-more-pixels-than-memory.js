// name: a-picture-with-more-pixels-than-memory
// class: display
// tier: isolated
// timeout: 3
// expect: a picture of forty bytes that claims a billion pixels is not passed on
// check: ok
// check: [kind for kind, _, _ in displayed] == ["note"]
const png = new Uint8Array(40);
png.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52, 0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
display(png);
