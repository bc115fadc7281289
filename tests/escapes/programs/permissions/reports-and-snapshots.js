// name: reports-and-snapshots
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: diagnostics write no file
// check: ok and got == []
const v8 = await import("node:v8");
const { default: process } = await import("node:process");
await attempt("writeHeapSnapshot", () => v8.writeHeapSnapshot("@@CANARY@@/heap"));
await attempt("writeReport", () => process.report.writeReport("@@CANARY@@/report") || false);
await attempt("coverage", () => { v8.takeCoverage?.(); return false; });
await attempt("flags", () => { v8.setFlagsFromString("--prof"); v8.setFlagsFromString("--logfile=@@CANARY@@/log"); v8.setFlagsFromString("--trace-turbo"); for (let n = 0; n < 1e6; n++); return false; });
await attempt("trace", async () => { const { createTracing } = await import("node:trace_events"); createTracing({ categories: ["node"] }).enable(); return false; });
return "end";
