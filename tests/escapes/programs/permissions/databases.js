// name: databases
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: a database opens no file of the host, writes none, and loads no extension
// check: ok and got == []
const { DatabaseSync, backup } = await import("node:sqlite");
await attempt("open", () => { new DatabaseSync("@@CANARY@@/x.db").exec("CREATE TABLE t(a)"); return "written"; });
await attempt("open a secret", () => { new DatabaseSync("@@SECRET@@", { readOnly: true }).prepare("SELECT 1").get(); return "opened"; });
await attempt("attach", () => { new DatabaseSync(":memory:").exec("ATTACH '@@CANARY@@/y.db' AS y; CREATE TABLE y.t(a)"); return "written"; });
await attempt("vacuum into", () => { const database = new DatabaseSync(":memory:"); database.exec("CREATE TABLE t(a); VACUUM INTO '@@CANARY@@/z.db'"); return "written"; });
await attempt("extension", () => { const database = new DatabaseSync(":memory:", { allowExtension: true }); database.enableLoadExtension(true); database.loadExtension("/lib/x86_64-linux-gnu/libm.so.6"); return "loaded"; });
await attempt("load_extension", () => { new DatabaseSync(":memory:", { allowExtension: true }).prepare("SELECT load_extension('/x')").get(); return "loaded"; });
await attempt("backup", async () => { await backup(new DatabaseSync(":memory:"), "@@CANARY@@/b.db"); return "written"; });
await attempt("uri", () => { new DatabaseSync("file:@@CANARY@@/u.db?vfs=unix-none").exec("CREATE TABLE t(a)"); return "written"; });
await attempt("uri in memory", () => { new DatabaseSync("file::memory:?cache=shared"); return false; });
await attempt("temporary files", () => { const database = new DatabaseSync(":memory:"); database.exec("PRAGMA temp_store=1; PRAGMA cache_size=5; CREATE TEMP TABLE t(b)"); const insert = database.prepare("INSERT INTO t VALUES(zeroblob(1000000))"); for (let n = 0; n < 20; n++) insert.run(); return "spilled"; });
return "end";
