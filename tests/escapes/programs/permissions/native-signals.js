// name: native-signals
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 4
// expect: with native calls at hand no other process can be signalled, asked for or held
// check: ok and got == []
const host = Number("@@HOST@@");
const parent = () => sys(110);
await attempt("kill the parent", () => { if (parent() === 0) throw new Error("not visible"); return `${sys(62, parent(), 0)}`; });
await attempt("kill the host", () => `${sys(62, host, 0)}`);
await attempt("kill the first", () => `${sys(62, 1, 0)}`);
await attempt("kill all", () => `${sys(62, -1, 0)}`);
await attempt("kill the host's group", () => `${sys(62, -host, 0)}`);
await attempt("tkill", () => `${sys(200, host, 0)}`);
await attempt("tgkill", () => `${sys(234, host, host, 0)}`);
await attempt("sigqueue", () => `${sys(129, host, 0, new Uint8Array(128))}`);
await attempt("pidfd_open", () => `${sys(434, host, 0)}`);
await attempt("pidfd_send_signal", () => `${sys(424, sys(434, host, 0), 0, 0, 0)}`);
await attempt("group of another", () => `${sys(109, 0, host)}`);
await attempt("own session", () => `${sys(112)}`);
await attempt("SIGUSR2 to the host", () => `${sys(62, host, 12)}`);
return "end";
