// name: where-jobs-lie
// class: later
// tier: isolated
// authority: yes
// uses: attempts
// needs: landlock
// timeout: 5
// expect: the records of jobs, of this and of other conversations, can neither be read nor written nor cancelled from the process
// check: got == [] and secret not in text
const state = "@@STORE@@/..";
for (const name of ["jobs", "cancels", "jobs.lock", "energy-ledger.jsonl"]) {
  const path = `${state}/${name}`;
  await attempt(`stat ${name}`, () => Deno.statSync(path).size >= 0);
  await attempt(`readDir ${name}`, () => [...Deno.readDirSync(path)].map((entry) => entry.name).join());
  await attempt(`read ${name}`, () => Deno.readTextFileSync(path));
  await attempt(`write ${name}`, () => { Deno.writeTextFileSync(`${path}/planted.json`, "{}"); return "done"; });
  await attempt(`remove ${name}`, () => { Deno.removeSync(path, { recursive: true }); return "done"; });
  await attempt(`node ${name}`, async () => (await import("node:fs")).readdirSync(path).join());
}
return "end";
