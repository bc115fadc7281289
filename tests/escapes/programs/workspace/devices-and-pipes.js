// name: devices-and-pipes
// class: workspace
// tier: workspace
// uses: attempts
// timeout: 4
// expect: a named pipe in the folder is not opened: nothing waits for its other end
// check: ok and got == []
await attempt("read", () => Deno.readTextFile("pipe"));
await attempt("write", () => Deno.writeTextFile("pipe", "x").then(() => "written"));
await attempt("copy", () => Deno.copyFile("pipe", "copy").then(() => "copied"));
return "end";
