// name: garbage
// class: network
// tier: network
// uses: attempts
// timeout: 3
// expect: an answer that is no HTTP, or that is cut short, is an error of that request
// check: ok and got == []
await attempt("garbage", async () => `${(await fetch("http://@@ALLOWED@@/garbage")).status}`);
await attempt("short", async () => (await (await fetch("http://@@ALLOWED@@/short")).text()));
return "end";
