// name: what-is-allowed-works
// class: network
// tier: network
// timeout: 3
// expect: the allowed host answers, and nobody else was asked
// check: ok and value == [200, "allowed says hello"] and len(asked) == 1
const response = await fetch("http://@@ALLOWED@@/ok");
return [response.status, await response.text()];
