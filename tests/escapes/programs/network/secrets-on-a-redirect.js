// name: secrets-on-a-redirect
// class: network
// tier: network
// uses: attempts
// timeout: 3
// expect: what the host adds for one place is not sent to another by a redirect, and the final URL does not show it
// check: ok and hits == [] and env_secret not in text
await attempt("away", async () => `${(await fetch("http://@@ALLOWED@@/redirect?to=http://@@FORBIDDEN@@/")).status}`);
return (await fetch("http://@@ALLOWED@@/redirect?to=/echo")).url;
