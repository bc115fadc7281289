// name: native-shared-memory
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts, native
// timeout: 3
// expect: no memory, queue or semaphore is shared with other processes, or outlives the run
// check: ok and got == []
await attempt("shmget", () => { const id = sys(29, 0x45534341, 4096, 0o1600); sys(31, id, 0, 0); return `${id}`; });
await attempt("semget", () => { const id = sys(64, 0x45534341, 1, 0o1600); sys(66, id, 0, 0, 0); return `${id}`; });
await attempt("msgget", () => { const id = sys(68, 0x45534341, 0o1600); sys(71, id, 0, 0); return `${id}`; });
await attempt("mq_open", () => { const id = sys(240, "@@MARK@@", 0o102, 0o600, 0); sys(241, "@@MARK@@"); return `${id}`; });
await attempt("shm_open", () => `${sys(2, "/dev/shm/@@MARK@@", 0o102, 0o600)}`);
return "end";
