// name: network-in-a-workspace
// class: workspace
// tier: workspace
// uses: attempts, send
// timeout: 3
// expect: a workspace gives no network
// check: ok and got == [] and asked == []
await attempt("fetch", async () => `${(await fetch("http://@@ALLOWED@@/ok")).status}`);
frame({ type: "__fetch__", call_id: "x1", url: "http://@@ALLOWED@@/ok", method: "GET", headers: [], body: null, redirect: "follow" });
await pause(300);
return "end";
