// Speak on the pipe past the harness, as bytes.
const send = (text) => {
  const bytes = typeof text === "string" ? new TextEncoder().encode(text) : text;
  for (let at = 0; at < bytes.length;) at += Deno[Deno.internal].core.writeSync(1, bytes.subarray(at));
};
const frame = (value) => send(JSON.stringify(value) + "\n");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
