// name: storage
// class: persistence
// tier: isolated
// authority: yes
// runs: 2
// timeout: 3
// expect: what one run stores in the browser's way is not there for the next
// check: "SEEN" not in text
const seen = [];
try { seen.push(localStorage.getItem("@@MARK@@") ? "SEEN" : "clean"); localStorage.setItem("@@MARK@@", "1"); } catch (refusal) { seen.push(refusal.name); }
try { seen.push(sessionStorage.getItem("@@MARK@@") ? "SEEN" : "clean"); sessionStorage.setItem("@@MARK@@", "1"); } catch (refusal) { seen.push(refusal.name); }
try { seen.push(await caches.has("@@MARK@@") ? "SEEN" : "clean"); await (await caches.open("@@MARK@@")).put("http://x.test/", new Response("x")); } catch (refusal) { seen.push(refusal.name); }
return seen;
