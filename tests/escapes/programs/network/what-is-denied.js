// name: what-is-denied
// class: network
// tier: network
// uses: attempts
// timeout: 4
// expect: what an entry denies is denied in every spelling of its path
// check: ok and got == [] and asked == []
for (const path of ["/denied", "/denied/x", "//denied", "/./denied", "/x/../denied", "/%64enied", "/DENIED/../denied", "/denied%2f", "/denied;x", "/%2e/denied", "/x/%2e%2e/denied", "/denied?x", "/denied#x", "\\denied"]) {
  await attempt(path, async () => `${(await fetch("http://@@ALLOWED@@" + path)).status}`);
}
return "end";
