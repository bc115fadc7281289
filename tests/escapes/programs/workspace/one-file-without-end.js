// name: one-file-without-end
// class: workspace
// tier: workspace
// timeout: 6
// alone: yes
// expect: a file that is appended to without end stops at the limit
// check: host_mb < 64 and ok and value == "LimitError"
const block = new Uint8Array(1 << 20);
try { for (let n = 0; n < 200; n++) await Deno.writeFile("long", block, { append: true }); } catch (refusal) { return refusal.name; }
