// name: sqlite-in-memory
// class: resources
// tier: isolated
// timeout: 5
// alone: yes
// expect: a database in memory counts
// check: not ok and peak_mb < memory_mb + 120
const { DatabaseSync } = await import("node:sqlite");
const database = new DatabaseSync(":memory:");
database.exec("CREATE TABLE t(b); PRAGMA cache_size=1000000");
const insert = database.prepare("INSERT INTO t VALUES(zeroblob(4000000))");
for (;;) insert.run();
