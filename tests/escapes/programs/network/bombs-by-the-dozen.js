// name: bombs-by-the-dozen
// class: network
// tier: network
// timeout: 8
// alone: yes
// expect: many bombs at once cost the host no more than a bounded number of them
// check: host_mb < 64 and (ok or error in ("LimitError", "TimeoutError", "MemoryError", "CrashError"))
const ends = await Promise.allSettled(Array.from({ length: 24 }, () => fetch("http://@@ALLOWED@@/bomb").then((response) => response.arrayBuffer())));
if (ends.some((end) => end.status === "fulfilled")) throw new Error("a bomb came through");
return "none";
