// name: slow-folders
// class: workspace
// tier: workspace
// timeout: 6
// alone: yes
// expect: deep trees, long lists and their removal do not hold up the host
// check: ok or error in ("LimitError", "TimeoutError", "RuntimeError")
try {
  await Deno.mkdir("a/".repeat(200), { recursive: true });
  for (let n = 0; n < 700; n++) await Deno.writeTextFile(`many${n}`, "x");
  for (let n = 0; n < 50; n++) for await (const _ of Deno.readDir("."));
  await Deno.rename("a", "b");
  await Deno.remove("b", { recursive: true });
} catch (refusal) {
  if (refusal.name !== "LimitError") throw refusal;
}
return "end";
