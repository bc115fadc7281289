// name: programs-with-deno
// class: permissions
// tier: isolated
// authority: yes
// uses: attempts
// timeout: 5
// expect: Deno starts no program
// check: ok and got == []
for (const program of ["/bin/true", "true", "/usr/bin/env", "sh", Deno.execPath()]) {
  await attempt(`output ${program}`, async () => `${(await new Deno.Command(program, { args: ["--version"] }).output()).code}`);
  await attempt(`outputSync ${program}`, () => `${new Deno.Command(program, { args: ["--version"] }).outputSync().code}`);
  await attempt(`spawn ${program}`, async () => `${(await new Deno.Command(program, { args: ["--version"], stdin: "piped", stdout: "piped" }).spawn().status).code}`);
}
await attempt("detached", async () => `${(await new Deno.Command("/bin/true", { detached: true }).spawn().status).code}`);
await attempt("spawn function", async () => `${(await Deno.spawnAndWait?.("/bin/true"))?.code ?? (() => { throw new Error("not there"); })()}`);
return "end";
