// name: where-stores-lie
// class: store
// tier: store
// authority: yes
// uses: attempts
// needs: landlock
// timeout: 5
// expect: the files of the host's stores can neither be read nor written from the process, and no answer tells where they are
// check: got == [] and "@@STORE@@" not in str(logs)
const folder = "@@STORE@@";
await store.set("a", 1);
await attempt("readDir", () => [...Deno.readDirSync(folder)].map((entry) => entry.name).join());
await attempt("stat", () => Deno.statSync(folder).isDirectory);
await attempt("write", () => { Deno.writeTextFileSync(folder + "/planted.json", "{}"); return "done"; });
await attempt("remove", () => { Deno.removeSync(folder, { recursive: true }); return "done"; });
await attempt("node", async () => (await import("node:fs")).readdirSync(folder).join());
await attempt("error", async () => {
  const said = [];
  for (const key of ["", "k".repeat(300), "\ud800"]) await store.get(key).catch((refusal) => said.push(String(refusal.stack)));
  return said.join().includes("/state/") ? said.join() : false;
});
return "end";
