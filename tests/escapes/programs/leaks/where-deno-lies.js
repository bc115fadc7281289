// name: where-deno-lies
// class: leaks
// tier: isolated
// authority: yes
// needs: root
// timeout: 4
// expect: no name, argument, report or stack says where the binary lies on the host
// check: ok and deno not in text
const { default: process } = await import("node:process");
const seen = [Deno.mainModule.slice(0, 60), new Error("x").stack, String(Deno.args)];
for (const name of Object.getOwnPropertyNames(process)) {
  try { seen.push(name, JSON.stringify(process[name])?.slice(0, 2_000)); } catch { /* it cannot be told */ }
}
for (const ask of [() => Deno.execPath(), () => process.report?.getReport?.(), () => Deno.inspect(Deno.build)]) {
  try { seen.push(String(ask())); } catch (refusal) { seen.push(String(refusal)); }
}
return seen.join("\n").slice(0, 30_000);
