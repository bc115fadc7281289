// name: native-threads-with-more
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: a thread is made with nothing of its own beside it: no descriptors, no namespace
// check: ok and got == []
// The kernel itself refuses each of these, for a reason of its own; "not allowed" has to come before that.
const thread = 0x10000 | 0x800 | 0x100;
await attempt("mounts", () => reach(56, thread | 0x20000 | 0x200, 0, 0, 0, 0));
await attempt("a user", () => reach(56, thread | 0x10000000, 0, 0, 0, 0));
await attempt("processes", () => reach(56, thread | 0x20000000, 0, 0, 0, 0));
await attempt("a signal handler", () => reach(56, 0x10000 | 0x100, 0, 0, 0, 0));
await attempt("descriptors", () => `${sys(436, 200, 200, 2)}`);
return "end";
