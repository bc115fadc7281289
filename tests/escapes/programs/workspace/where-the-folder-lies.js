// name: where-the-folder-lies
// class: workspace
// tier: workspace
// timeout: 3
// expect: neither answers nor errors tell where on the host the folder is
// check: ok and "tmp" not in str(value) and "escape" not in str(value)
const seen = [Deno.cwd(), await Deno.realPath("."), await Deno.realPath("kept.txt")];
for (const look of [() => Deno.readTextFile("nothing"), () => Deno.readTextFile("folder"), () => Deno.mkdir("kept.txt"), () => Deno.readTextFile("to-secret"), () => Deno.readTextFile("circle"), () => Deno.remove("folder"), () => Deno.readTextFile("/x")]) {
  try { await look(); seen.push("fine"); } catch (refusal) { seen.push(String(refusal)); }
}
return seen;
