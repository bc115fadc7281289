// name: an-error-with-a-name-of-the-host
// class: values
// tier: isolated
// timeout: 2
// expect: names that the host gives a meaning to can colour the kind of the code's own error, which stays an error
// check: not ok
const error = new Error("Requires everything access");
error.name = "PermissionDenied";
throw error;
