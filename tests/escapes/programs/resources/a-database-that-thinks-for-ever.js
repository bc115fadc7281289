// name: a-database-that-thinks-for-ever
// class: resources
// tier: isolated
// timeout: 1
// expect: a query without end is killed at the deadline
// check: not ok and error == "TimeoutError"
const { DatabaseSync } = await import("node:sqlite");
new DatabaseSync(":memory:").prepare("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM t) SELECT count(*) FROM t").get();
return "counted";
