// name: secrets-of-the-host
// class: network
// tier: network
// timeout: 3
// expect: a header that the host adds reaches the server, and comes back to the code redacted when the server echoes it
// check: ok and env_secret not in text and len(asked) >= 1
const response = await fetch("http://@@ALLOWED@@/echo", { headers: { "x-mine": "1" } });
return [await response.text(), [...response.headers]];
