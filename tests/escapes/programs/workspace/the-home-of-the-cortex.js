// name: the-home-of-the-cortex
// class: workspace
// tier: workspace
// commit: yes
// uses: attempts
// timeout: 6
// authority: yes
// expect: code with a folder reads and writes neither the home of the cortex nor a folder of another run
// check: got == [] and secret_intact
for (const up of ["..", "../..", "../../..", "/workspace/..", "@@WS@@/..", "@@WS@@/../..", "folder/../..", "to-up", "TO-UP", "..\u200b", "．．"]) {
  for (const path of [`${up}/home/state`, `${up}/home/audit`, `${up}/home`, `${up}/outside/secret.json`, up]) {
    await attempt(`list ${path}`, async () => { for await (const { name } of Deno.readDir(path)) return name; });
    await attempt(`read ${path}`, () => Deno.readTextFile(`${path}/approval.key`));
  }
  await attempt(`rename to ${up}`, () => Deno.rename("kept.txt", `${up}/home/kept.txt`).then(() => "renamed"));
  await attempt(`copy to ${up}`, () => Deno.copyFile("kept.txt", `${up}/canary/kept.txt`).then(() => "copied"));
}
return "end";
