// name: a-result-after-an-error-does-not-count
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: an error that was said first cannot be taken back by a result
// check: not ok and error == "RuntimeError" and "first words" in message
frame({ type: "__error__", phase: "run", name: "Error", message: "first words", stack: "" });
frame({ type: "__result__", value: "never mind" });
return "never mind";
