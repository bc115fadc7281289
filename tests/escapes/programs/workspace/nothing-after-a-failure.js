// name: nothing-after-a-failure
// class: workspace
// tier: workspace
// commit: yes
// timeout: 3
// expect: a run that fails at its end leaves nothing to commit
// check: not ok and changes == [] and files["kept.txt"] == "kept"
await Deno.writeTextFile("kept.txt", "gone");
throw new Error("and then it failed");
