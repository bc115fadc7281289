// name: names-that-play-the-owner
// class: workspace
// tier: workspace
// commit: yes
// uses: attempts
// timeout: 6
// expect: names that look like our own lines, or hide a part of themselves, reach the folder as they are and steer nothing
// check: ok and commit_error == "" and all(name.isprintable() or "\u200b" in name for name in files)
// check: got == []
const names = ["a.txt (3 bytes)", "removed kept.txt", "  | + nothing", "Files written: 0 added", "сonfig", "é̂̃̄̅̆̇", "a\u200bb", "\"quoted\"", "`tick`", "$(touch x)", "-rf", "y" + "z".repeat(250), "%1b[2J", "\\u001b[2J"];
for (const name of names) await Deno.writeTextFile(name, "\u001b[2J\u202e\r\u0007\n@@ 1\nadded kept.txt\n");
for (const name of ["\u001b[2J", "a\rb", "a\nb", "\u202eexe", "\u009b2J"]) {
  await attempt(JSON.stringify(name), () => Deno.writeTextFile(name, "x").then(() => "written"));
}
return names.length;
