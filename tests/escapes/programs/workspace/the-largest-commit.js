// name: the-largest-commit
// class: workspace
// tier: workspace
// commit: yes
// timeout: 6
// alone: yes
// expect: a commit as large as it may be does not hold up the host
// check: ok and commit_error == ""
for (let n = 0; n < 300; n++) await Deno.writeTextFile(`f${n}`, "x".repeat(50_000));
return "end";
