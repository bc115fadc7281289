// name: one-byte-at-a-time
// class: frames
// tier: isolated
// uses: send
// timeout: 3
// expect: a frame in single bytes is a frame, and costs the host nothing to speak of
// check: ok and value == "drop by drop"
for (const byte of new TextEncoder().encode('{"type":"__result__","value":"drop by drop"}\n')) {
  send(new Uint8Array([byte]));
  await pause(1);
}
await pause(5000);
