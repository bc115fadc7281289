// name: an-error-that-causes-itself
// class: values
// tier: isolated
// timeout: 2
// expect: an error that is its own cause, in an aggregate of itself, is one error
// check: not ok and error == "RuntimeError" and len(text) < 60000
const error = new AggregateError([], "round");
error.cause = error;
error.errors = Array(1000).fill(error);
console.error(error);
throw error;
