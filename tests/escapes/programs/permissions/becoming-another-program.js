// name: becoming-another-program
// class: permissions
// tier: isolated
// authority: yes
// timeout: 2
// expect: the process cannot become another program that speaks in its name
// check: not ok and error in ("PermissionError", "RuntimeError", "CrashError")
// check: logs == []
const { default: process } = await import("node:process");
process.execve("/bin/sh", ["sh", "-c", `echo '{"type":"__output__","level":"log","data":"another program"}'`], {});
throw new Error("execve came back");
