// name: gpu
// class: resources
// tier: isolated
// authority: yes
// uses: attempts
// needs: landlock
// timeout: 4
// expect: no graphics driver of the machine is loaded
// check: ok and got == []
await attempt("adapter", async () => {
  const adapter = await navigator.gpu?.requestAdapter();
  if (!adapter) throw new Error("none");
  return String(adapter.info?.description ?? "an adapter");
});
return "end";
