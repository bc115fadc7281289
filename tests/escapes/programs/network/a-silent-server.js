// name: a-silent-server
// class: network
// tier: network
// timeout: 1
// expect: a server that never answers is waited for until the deadline
// check: not ok and error == "TimeoutError"
return (await fetch("http://@@ALLOWED@@/silent")).status;
