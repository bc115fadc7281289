// name: a-slow-server
// class: network
// tier: network
// timeout: 1
// expect: a server that drips holds up its own run and nobody else, until the deadline
// check: not ok and error == "TimeoutError"
return (await (await fetch("http://@@ALLOWED@@/slow")).text()).length;
