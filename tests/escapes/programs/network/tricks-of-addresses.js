// name: tricks-of-addresses
// class: network
// tier: network
// uses: attempts
// timeout: 4
// expect: user names, back slashes, fragments and control characters in a URL lead nowhere else
// check: ok and got == [] and hits == []
for (const url of [
  "http://@@ALLOWED@@@@@FORBIDDEN@@/", "http://@@FORBIDDEN@@#@@@ALLOWED@@/", "http://@@FORBIDDEN@@\\@@@ALLOWED@@/", "http://@@FORBIDDEN@@?@@@ALLOWED@@/",
  "http://user:@@ALLOWED@@@@@FORBIDDEN@@/", "http:@@FORBIDDEN@@/", "//@@FORBIDDEN@@/", "http:\\\\@@FORBIDDEN@@\\", " http://@@FORBIDDEN@@/", "http://@@FORBIDDEN@@\t/", "ht\ntp://@@FORBIDDEN@@/", "HTTP://@@FORBIDDEN@@/",
]) {
  await attempt(JSON.stringify(url), async () => `${(await fetch(url)).status}`);
}
return "end";
