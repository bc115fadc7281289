// name: writing-through-links
// class: workspace
// tier: workspace
// commit: yes
// uses: attempts
// timeout: 4
// expect: nothing is written, made, moved or removed through a link that points out, not even by the commit
// check: canary == [] and secret_intact
try { await Deno.writeTextFile("to-secret", "overwritten"); } catch { /* refused */ }
try { await Deno.writeTextFile("to-canary/x", "x"); } catch { /* refused */ }
try { await Deno.mkdir("to-canary/d"); } catch { /* refused */ }
try { await Deno.remove("to-outside/secret.json"); } catch { /* refused */ }
try { await Deno.remove("to-outside", { recursive: true }); } catch { /* refused */ }
try { await Deno.rename("to-outside/secret.json", "mine"); } catch { /* refused */ }
try { await Deno.rename("kept.txt", "to-canary/kept.txt"); } catch { /* refused */ }
try { await Deno.copyFile("kept.txt", "to-canary/copy.txt"); } catch { /* refused */ }
return "end";
