// name: the-largest-request
// class: network
// tier: network
// timeout: 5
// alone: yes
// expect: a request as large as it may be, echoed with escapes, is searched without holding up the host
// check: ok and value > 1000000 and env_secret not in text
return (await (await fetch("http://@@ALLOWED@@/echo", { method: "POST", body: "%45NV-\\SECRET\"".repeat(74_000) })).text()).length;
