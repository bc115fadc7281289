// name: an-unhandled-rejection
// class: values
// tier: isolated
// timeout: 2
// expect: a rejection that nobody handles is an error that names it, not a silent null
// check: not ok and "nobody saw this" in message
Promise.reject(new Error("nobody saw this"));
await new Promise((resolve) => setTimeout(resolve, 100));
return 5;
