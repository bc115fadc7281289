// name: the-store-of-another-conversation
// class: store
// tier: store
// authority: yes
// uses: send
// timeout: 5
// expect: no key and no call, forged or not, reaches what another conversation keeps
// check: raised == "" and kept.get("kept") == "mine"
let id = 0;
const tricks = ["kept", "other", "other/kept", "../other", "other.kept", "other\0kept", "store/other", "*", "", ".", "..", "%2e%2e/other", "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"];
const found = [];
for (const key of tricks) {
  try { found.push(await store.get(key)); } catch (refusal) { found.push(String(refusal)); }
  try { await store.delete(key); } catch (refusal) { found.push(String(refusal)); }
  for (const operation of ["get", "delete"]) frame({ type: "__store__", call_id: `s${id++}`, operation, key, value: { conversation: "other" } });
}
await store.set("kept", "mine");
await pause(300);
return [found, await store.keys()];
