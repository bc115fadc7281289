// name: channels
// class: persistence
// tier: isolated
// authority: yes
// runs: 2
// timeout: 2
// expect: broadcast channels and locks do not reach another run
// check: "SEEN" not in text and ok
const channel = new BroadcastChannel("@@MARK@@");
const heard = new Promise((resolve) => {
  channel.onmessage = () => resolve("SEEN");
  setTimeout(() => resolve("silence"), 150);
});
channel.postMessage("hello");
const held = await (navigator.locks?.query?.() ?? {});
const answer = [await heard, (held.held ?? []).length ? "SEEN" : "free"];
channel.close();
return answer;
