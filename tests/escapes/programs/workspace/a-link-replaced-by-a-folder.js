// name: a-link-replaced-by-a-folder
// class: workspace
// tier: workspace
// commit: yes
// timeout: 4
// expect: a folder put in the place of a link is a folder in the workspace: its files are not written where the link pointed
// check: canary == [] and secret_intact
try {
  await Deno.remove("to-canary");
  await Deno.mkdir("to-canary");
  await Deno.writeTextFile("to-canary/x", "x");
  await Deno.rename("folder", "to-outside");
} catch { /* refused is fine too */ }
return "end";
