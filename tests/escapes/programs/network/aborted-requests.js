// name: aborted-requests
// class: network
// tier: network
// timeout: 4
// expect: requests that are given up are given up by the host too, and the run goes on
// check: ok and value == "allowed says hello"
for (let n = 0; n < 20; n++) {
  const giveUp = new AbortController();
  const asked = fetch("http://@@ALLOWED@@/silent", { signal: giveUp.signal }).catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 5));
  giveUp.abort();
  await asked;
}
return (await (await fetch("http://@@ALLOWED@@/ok")).text());
