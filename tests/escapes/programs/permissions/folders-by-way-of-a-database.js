// name: folders-by-way-of-a-database
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// needs: root
// timeout: 3
// expect: the database's own look at folders tells nothing of the host's
// check: ok and got == []
const { DatabaseSync } = await import("node:sqlite");
const look = (folder) => {
  try {
    new DatabaseSync(":memory:").exec(`PRAGMA temp_store_directory='${folder}'`);
    return "accepted";
  } catch (refusal) {
    return refusal.message;
  }
};
await attempt("which folders exist", () => {
  const ends = ["@@CANARY@@", "/tmp", "/no/such/folder"].map(look);
  return new Set(ends).size > 1 && ends.join();
});
return "end";
