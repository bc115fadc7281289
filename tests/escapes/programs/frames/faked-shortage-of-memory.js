// name: faked-shortage-of-memory
// class: frames
// tier: isolated
// timeout: 2
// expect: a message on stderr can colour the error of the run that wrote it; it stays an error
// check: not ok and error in ("MemoryError", "CrashError")
Deno[Deno.internal].core.writeSync(2, new TextEncoder().encode("memory allocation of 1 bytes failed\n"));
Deno.exit(134);
