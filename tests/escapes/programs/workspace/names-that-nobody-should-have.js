// name: names-that-nobody-should-have
// class: workspace
// tier: workspace
// commit: yes
// uses: attempts
// timeout: 4
// expect: names with control characters, or of no end are refused
// check: got == [] and all(name.isprintable() for name in files)
for (const name of ["a\nb", "a\0b", "\u001b[2J", "a\u0007", "\u202etxt.exe", "x".repeat(300), "d/".repeat(3000) + "x", "", ".", "..", "/", "/workspace", "a/../..", "con\r", "\u2028"]) {
  await attempt(JSON.stringify(name).slice(0, 40), () => Deno.writeTextFile(name, "x").then(() => "written"));
}
return "end";
