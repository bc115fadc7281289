// name: nothing-without-a-commit
// class: workspace
// tier: workspace
// timeout: 3
// expect: whatever a run does, the folder is as it was until the caller commits
// check: ok and files["kept.txt"] == "kept" and "a.txt" not in files and files["folder/inner.txt"] == "inner"
// check: ("removed", "kept.txt") in changes and ("added", "a.txt") in changes
await Deno.writeTextFile("a.txt", "new");
await Deno.remove("kept.txt");
await Deno.remove("folder", { recursive: true });
return "done";
