// name: a-circle-of-redirects
// class: network
// tier: network
// timeout: 4
// expect: redirects without end are an error after some
// check: not ok and len(asked) <= 11
return (await fetch("http://@@ALLOWED@@/circle")).status;
