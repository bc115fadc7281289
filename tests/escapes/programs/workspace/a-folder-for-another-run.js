// name: a-folder-for-another-run
// class: workspace
// tier: workspace
// runs: 2
// timeout: 3
// expect: what a run wrote and nobody committed is not there for the next
// check: values == [["clean"], ["clean"]]
const seen = [];
try { await Deno.stat("planted"); seen.push("SEEN"); } catch { seen.push("clean"); }
await Deno.writeTextFile("planted", "x");
return seen;
