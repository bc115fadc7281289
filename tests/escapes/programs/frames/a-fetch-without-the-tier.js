// name: a-fetch-without-the-tier
// class: frames
// tier: isolated
// uses: send
// timeout: 2
// expect: a fetch frame of a run without the network tier reaches no server
// check: asked == [] and hits == []
for (let n = 0; n < 5; n++) {
  frame({ type: "__fetch__", call_id: `f${n}`, url: "http://@@ALLOWED@@/forged", method: "GET", headers: [], body: null, redirect: "follow" });
}
await pause(400);
return "end";
