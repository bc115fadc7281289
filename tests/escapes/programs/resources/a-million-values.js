// name: a-million-values
// class: resources
// tier: isolated
// timeout: 4
// expect: a result of a million values is cut or refused without cost to the host
// check: (ok and truncated) or error in ("RuntimeError", "LimitError", "MemoryError")
return Array(999_990).fill(0);
