// name: files-by-the-thousand
// class: resources
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 3
// expect: open files are limited
// check: got == []
await attempt("10000 open files", () => {
  const open = [];
  for (let n = 0; n < 10_000; n++) open.push(Deno.openSync("/dev/null"));
  return `${open.length}`;
});
await attempt("10000 pipes", async () => {
  const kept = [];
  for (let n = 0; n < 5_000; n++) kept.push(Deno[Deno.internal].core.ops.op_pipe?.() ?? (() => { throw new Error("no pipes"); })());
  return `${kept.length}`;
});
return "end";
