// name: the-folder-itself
// class: workspace
// tier: workspace
// commit: yes
// uses: attempts
// timeout: 4
// expect: the granted folder itself cannot be removed, moved or replaced
// check: got == [] and files["kept.txt"] == "kept"
await attempt("remove", () => Deno.remove("/workspace", { recursive: true }).then(() => "removed"));
await attempt("remove .", () => Deno.remove(".", { recursive: true }).then(() => "removed"));
await attempt("rename", () => Deno.rename("/workspace", "/workspace/folder/x").then(() => "moved"));
await attempt("rename into itself", () => Deno.rename("folder", "folder/inner").then(() => "moved"));
await attempt("write", () => Deno.writeTextFile("/workspace", "x").then(() => "written"));
return "end";
