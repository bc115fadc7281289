// name: another-port
// class: network
// tier: network
// uses: attempts
// timeout: 3
// expect: another port of an allowed host is refused, in every spelling of the host
// check: ok and got == [] and hits == []
const port = "@@FORBIDDEN@@".split(":")[1];
for (const host of ["127.0.0.1", "localhost", "127.1", "127.0.0.01", "0x7f.1", "2130706433", "0177.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "127.0.0.1.", "①②⑦.⓪.⓪.①", "127。0。0。1", "%31%32%37.0.0.1"]) {
  await attempt(host, async () => `${(await fetch(`http://${host}:${port}/`)).status}`);
}
return "end";
