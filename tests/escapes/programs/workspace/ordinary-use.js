// name: ordinary-use
// class: workspace
// tier: workspace
// commit: yes
// timeout: 3
// expect: reading, writing and moving below the folder works, and is there after the commit
// check: ok and value == ["kept", "new"] and commit_error == "" and files["folder/b.txt"] == "new" and "a.txt" not in files
await Deno.writeTextFile("a.txt", "new");
await Deno.rename("a.txt", "/workspace/folder/b.txt");
return [await Deno.readTextFile("kept.txt"), Deno.readTextFileSync("folder/b.txt")];
