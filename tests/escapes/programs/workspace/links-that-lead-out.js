// name: links-that-lead-out
// class: workspace
// tier: workspace
// uses: attempts
// timeout: 4
// expect: a link that lies in the folder and points out of it cannot be read, listed or looked through
// check: ok and got == []
for (const path of ["to-secret", "to-outside/secret.json", "to-up/outside/secret.json", "folder/../to-secret", "to-outside/../outside/secret.json", "circle"]) {
  await attempt(`read ${path}`, () => Deno.readTextFile(path));
  await attempt(`stat ${path}`, () => Deno.stat(path).then(() => "there"));
  await attempt(`copy ${path}`, () => Deno.copyFile(path, "copied").then(() => "copied"));
}
await attempt("list", async () => { for await (const entry of Deno.readDir("to-outside")) return entry.name; });
await attempt("list up", async () => { for await (const entry of Deno.readDir("to-up")) return entry.name; });
await attempt("realPath", async () => { const path = await Deno.realPath("to-secret"); return path.includes("outside") && path; });
return "end";
