// name: an-answer-that-is-too-large
// class: tools
// tier: isolated
// tools: big
// timeout: 3
// expect: an answer beyond the limit is an error of the call
// check: ok and value == "result_too_large"
try { await tools.big({ size: 9 << 20 }); } catch (error) { return error.code; }
