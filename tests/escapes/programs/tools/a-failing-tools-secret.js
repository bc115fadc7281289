// name: a-failing-tools-secret
// class: tools
// tier: isolated
// tools: fail
// timeout: 2
// expect: the text and the traceback of a tool's exception stay with the host
// check: ok and "HOST-SECRET" not in text and ".py" not in text and "RuntimeError" in text
try {
  await tools.fail({});
} catch (error) {
  return [String(error), error.stack, Object.entries(error), String(error.cause)];
}
