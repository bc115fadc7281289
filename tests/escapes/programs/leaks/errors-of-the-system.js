// name: errors-of-the-system
// class: leaks
// tier: isolated
// authority: yes
// timeout: 3
// expect: messages of failed calls name no folder of the host beyond what the code said itself
// check: ok and "/work" not in text and "site-packages" not in text and ".venv" not in text
const seen = [];
const tries = [() => Deno.readTextFileSync("x"), () => Deno.realPathSync("."), () => import("./x.js"), () => Deno.openKv("x"), () => new Deno.Command("x").outputSync(), () => localStorage.length, () => Deno.dlopen("x", {})];
for (const one of tries) {
  try { await one(); seen.push("fine"); } catch (refusal) { seen.push(String(refusal)); }
}
return seen;
