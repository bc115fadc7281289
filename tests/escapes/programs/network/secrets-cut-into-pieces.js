// name: secrets-cut-into-pieces
// class: network
// tier: network
// timeout: 3
// expect: the code cannot make the server give the added header back in a form that slips through
// check: ok and env_secret not in text
const seen = [];
for (const headers of [{ "x-key": "mine" }, { "X-Key": "" }, { range: "bytes=0-5" }, { "accept-encoding": "gzip" }]) {
  seen.push(await (await fetch("http://@@ALLOWED@@/echo?a=%0a", { headers })).text());
}
return seen;
