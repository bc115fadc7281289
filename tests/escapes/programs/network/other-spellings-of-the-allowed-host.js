// name: other-spellings-of-the-allowed-host
// class: network
// tier: network
// uses: attempts
// timeout: 3
// expect: names that only look like the allowed host are refused
// check: ok and got == [] and hits == []
const port = "@@ALLOWED@@".split(":")[1];
for (const host of ["127.0.0.1.evil.example", "evil127.0.0.1", "127.0.0.2", "127.0.0.1%00.evil.example", "localhost", "[::1]", "127.0.0.1\t.example", "xn--127.0.0.1"]) {
  await attempt(host, async () => `${(await fetch(`http://${host}:${port}/`)).status}`);
}
return "end";
