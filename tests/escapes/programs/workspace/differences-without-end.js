// name: differences-without-end
// class: workspace
// tier: workspace
// commit: yes
// runs: 2
// alone: yes
// timeout: 20
// expect: a thousand files that are made to be compared for ever, twice, are listed and shown in bounded time
// check: ok
let turn = 0;
try { turn = Number(await Deno.readTextFile("turn")) + 1; } catch { /* the first */ }
await Deno.writeTextFile("turn", String(turn));
for (let n = 0; n < 990; n++) {
  const lines = [];
  for (let at = 0; at < 190; at++) lines.push(["x", "y", "z"][(at * (turn + 1) + n + (at % 7) * turn) % 3]);
  await Deno.writeTextFile(`${n}.txt`, lines.join("\n"));
}
return turn;
