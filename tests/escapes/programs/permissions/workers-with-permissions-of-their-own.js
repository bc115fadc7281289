// name: workers-with-permissions-of-their-own
// class: permissions
// tier: isolated
// authority: yes
// timeout: 4
// expect: a worker has no more rights than its run, whatever it asks for
// check: "THERE" not in text and (ok or error in ("CrashError", "MemoryError"))
const source = `
  const out = [];
  for (const look of [() => Deno.readTextFileSync("@@SECRET@@"), () => Deno.statSync("/etc/passwd") && "THERE", () => Deno.env.get("@@ENV@@"), () => Deno.writeTextFileSync("@@CANARY@@/w", "x")]) {
    try { out.push(String(look())) } catch (refusal) { out.push(refusal.name) }
  }
  postMessage(out)`;
const ends = [];
for (const permissions of [undefined, { read: true, env: true, write: true, net: true }]) {
  try {
    const worker = new Worker("data:text/javascript," + encodeURIComponent(source), { type: "module", ...(permissions && { deno: { permissions } }) });
    ends.push(await new Promise((resolve) => {
      worker.onmessage = (event) => resolve(event.data);
      worker.onerror = (event) => { event.preventDefault(); resolve("an error"); };
      setTimeout(() => resolve("silence"), 1000);
    }));
    worker.terminate();
  } catch (refusal) {
    ends.push(refusal.name);
  }
}
return ends;
