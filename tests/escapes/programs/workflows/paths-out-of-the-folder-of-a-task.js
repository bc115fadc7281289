// name: paths-out-of-the-folder-of-a-task
// class: workflows
// tier: workspace
// uses: attempts
// timeout: 5
// expect: a task that is granted a folder writes nothing outside of it, not into the home of its own run either
// check: got == [] and canary == []
const out = ["/workspace/../@@MARK@@", "../@@MARK@@", "@@CANARY@@/@@MARK@@", "@@HOME@@/workflows/changes/@@MARK@@"];
for (const path of [...out, "@@HOME@@/workflows/journal.sqlite", "/workspace/link-out/@@MARK@@"]) {
  await attempt(`write ${path}`, () => Deno.writeTextFile(path, "x"));
}
await attempt("read the journal", () => Deno.readTextFile("@@HOME@@/workflows/journal.sqlite"));
return "done";
