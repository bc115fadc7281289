// name: environment
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: no variable of the host's environment is there
// check: ok and got == []
const { default: process } = await import("node:process");
const own = ["DENO_DIR", "DENO_EMIT_CACHE_MODE", "DENO_NO_UPDATE_CHECK", "NO_COLOR", "TZ"];
const foreign = (names) => names.filter((name) => !own.includes(name)).join() || false;
await attempt("get", () => Deno.env.get("@@ENV@@") ?? false);
await attempt("PATH", () => Deno.env.get("PATH") ?? false);
await attempt("toObject", () => foreign(Object.keys(Deno.env.toObject())));
await attempt("process.env", () => process.env["@@ENV@@"] ?? false);
await attempt("keys", () => foreign(Object.keys(process.env)));
await attempt("report", () => foreign(Object.keys(process.report.getReport().environmentVariables ?? {})));
await attempt("loadEnvFile", () => { process.loadEnvFile("/etc/environment"); return "loaded"; });
return "end";
