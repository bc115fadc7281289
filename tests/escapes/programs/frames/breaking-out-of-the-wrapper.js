// name: breaking-out-of-the-wrapper
// class: frames
// tier: isolated
// timeout: 2
// expect: closing the wrapper's brackets is a syntax error and not code beside it
// check: not ok and error == "SyntaxError"
})(); globalThis.outside = true; (async () => {
