// name: more-than-the-disk-may-hold
// class: workspace
// tier: workspace
// timeout: 6
// alone: yes
// expect: what a run writes is limited in size and number, and the host does not keep more than that
// check: host_mb < 64 and "LimitError" in text
const block = new Uint8Array(8 << 20);
const ends = [];
try { for (let n = 0; n < 40; n++) await Deno.writeFile(`f${n}`, block); ends.push("all"); } catch (refusal) { ends.push(refusal.name); }
return ends;
