// name: stolen-input
// class: frames
// tier: isolated
// tools: echo
// timeout: 2
// expect: whoever reads the pipe past the harness sees his own run's answers and nothing else
// check: env_secret not in text and "admin" not in text
// check: ok or error == "TimeoutError"
const call = tools.echo({ mine: 1 });
const bytes = new Uint8Array(65536);
const reading = Deno[Deno.internal].core.read(0, bytes).then((count) => new TextDecoder().decode(bytes.subarray(0, count)));
return await Promise.race([reading, call, new Promise((resolve) => setTimeout(() => resolve("nothing"), 800))]);
