// name: files-without-end
// class: workspace
// tier: workspace
// timeout: 8
// alone: yes
// expect: files and folders without end stop at the limit of their number
// check: ok and value == "LimitError"
try { for (let n = 0; n < 20_000; n++) await Deno.mkdir(`d${n}`); } catch (refusal) { return refusal.name; }
return "all";
