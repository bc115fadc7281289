// name: paths-that-lead-out
// class: workspace
// tier: workspace
// uses: attempts
// timeout: 4
// expect: no spelling of a path leads out of the folder
// check: ok and got == []
for (const path of ["../outside/secret.json", "/workspace/../outside/secret.json", "folder/../../outside/secret.json", "@@SECRET@@", "/workspace/../../../../etc/passwd", "/etc/passwd", "/workspace//../outside/secret.json", "./././../outside/secret.json", "..\\outside\\secret.json", "/workspace\0/../x", "folder/..%2f..%2foutside/secret.json", "file:///etc/passwd", "~/x", "/proc/self/root@@SECRET@@", "/workspace/folder/../../../@@SECRET@@", "@@WS@@/../outside/secret.json"]) {
  await attempt(`read ${path}`, () => Deno.readTextFile(path));
  await attempt(`stat ${path}`, () => Deno.stat(path).then(() => "there"));
}
await attempt("file url", () => Deno.readTextFile(new URL("file://@@SECRET@@")));
await attempt("file url with dots", () => Deno.readTextFile(new URL("file:///workspace/%2e%2e/outside/secret.json")));
return "end";
