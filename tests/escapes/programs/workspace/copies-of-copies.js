// name: copies-of-copies
// class: workspace
// tier: workspace
// timeout: 6
// alone: yes
// expect: copying, which costs the code nothing, is counted like writing
// check: ok and value == "LimitError" and host_mb < 64
await Deno.writeFile("a", new Uint8Array(8 << 20));
try { for (let n = 0; n < 500; n++) await Deno.copyFile("a", `copy${n}`); } catch (refusal) { return refusal.name; }
return "all";
