// name: redirects
// class: network
// tier: network
// uses: attempts
// timeout: 5
// expect: a redirect is checked like a request: it leads to no other host, port or scheme, with no body and no header
// check: ok and got == [] and hits == []
for (const code of [301, 302, 303, 307, 308]) {
  await attempt(`${code}`, async () => `${(await fetch(`http://@@ALLOWED@@/redirect?code=${code}&to=http://@@FORBIDDEN@@/stolen`, { method: "POST", body: "mine", headers: { authorization: "mine" } })).status}`);
}
for (const to of ["//@@FORBIDDEN@@/", "file://@@SECRET@@", "http://@@ALLOWED@@@@@FORBIDDEN@@/", "data:text/plain,x", "http://169.254.169.254/latest/meta-data", "\\\\\\\\@@FORBIDDEN@@/"]) {
  await attempt(to, async () => `${(await fetch("http://@@ALLOWED@@/redirect?to=" + encodeURIComponent(to))).status}`);
}
await attempt("twice", async () => `${(await fetch("http://@@ALLOWED@@/redirect?to=" + encodeURIComponent("/redirect?to=http://@@FORBIDDEN@@/"))).status}`);
return "end";
