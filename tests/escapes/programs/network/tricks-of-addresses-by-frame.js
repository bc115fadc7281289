// name: tricks-of-addresses-by-frame
// class: network
// tier: network
// uses: send
// timeout: 4
// expect: the same tricks past the guest's own URL parser lead nowhere else either
// check: hits == [] and raised == ""
let id = 0;
for (const url of [
  "http://@@ALLOWED@@@@@FORBIDDEN@@/", "http://@@FORBIDDEN@@#@@@ALLOWED@@/", "http://@@FORBIDDEN@@\\@@@ALLOWED@@/", "http://@@ALLOWED@@\\@@@FORBIDDEN@@/", "http://@@ALLOWED@@ @@FORBIDDEN@@/", "http://@@ALLOWED@@\r\nHost: x/",
  "http://[::1]:1/", "http://[", "http://:80/", "http:///x", "file://@@SECRET@@", "ftp://@@FORBIDDEN@@/", "gopher://@@FORBIDDEN@@/_x", "data:text/plain,x", "http://@@FORBIDDEN@@", "javascript:1", "", "\0", "http://" + "a".repeat(100_000), "unix:///run/docker.sock",
]) {
  frame({ type: "__fetch__", call_id: `u${id++}`, url, method: "GET", headers: [], body: null, redirect: "follow" });
}
await pause(800);
return "end";
