// name: a-forged-result-is-the-runs-own
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a forged result speaks for its own run only, and the first end counts
// check: ok and value == "forged"
frame({ type: "__result__", value: "forged" });
frame({ type: "__result__", value: "second" });
return "honest";
