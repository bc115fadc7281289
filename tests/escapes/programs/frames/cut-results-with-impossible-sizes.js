// name: cut-results-with-impossible-sizes
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a result that claims another size than it has is text of a bounded length
// check: isinstance(value, str) or not ok
// check: len(text) < 100000
frame({ type: "__result__", text: "x".repeat(1_000_000), original_bytes: -5 });
await pause(1000);
