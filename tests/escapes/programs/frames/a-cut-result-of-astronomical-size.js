// name: a-cut-result-of-astronomical-size
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a size of a thousand digits neither raises nor fills the result
// check: len(text) < 100000
send(`{"type":"__result__","text":"x","original_bytes":${"9".repeat(5000)}}\n`);
await pause(1000);
