// name: a-flood-on-stderr
// class: parsing
// tier: isolated
// timeout: 2
// alone: yes
// expect: a flood on stderr neither blocks nor fills the host
// check: ok and value == "end" or error == "TimeoutError"
const chunk = new Uint8Array(1 << 16).fill(10);
for (let n = 0; n < 200; n++) Deno[Deno.internal].core.writeSync(2, chunk);
return "end";
