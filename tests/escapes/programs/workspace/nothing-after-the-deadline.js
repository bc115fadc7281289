// name: nothing-after-the-deadline
// class: workspace
// tier: workspace
// commit: yes
// timeout: 1
// expect: a run that is killed leaves nothing to commit
// check: not ok and changes == [] and files["kept.txt"] == "kept" and "late.txt" not in files
await Deno.writeTextFile("late.txt", "x");
for (;;);
