import type { RehearseFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";

const { host, guest } = readGolden();
const [rehearsal] = host.filter(({ frame }) => (frame as RehearseFrame).runs?.length);
const [ready] = guest.filter(({ frame }) => frame.type === "__ready__");
const [run] = host.filter(({ name }) => name === "a run with a nested context and lent tools");

// The harness is a whole program: it is started once, with all that the host will say already said.
const pipe = new FakePipe();
const listeners = new Map<string, (event: unknown) => void>();
const { addEventListener, console } = globalThis;
globalThis.addEventListener = (type: string, listener: unknown) =>
  void listeners.set(type, listener as (event: unknown) => void);
const { readTextFile } = Deno;
pipe.send(rehearsal.line + "\n", run.line + "\n");
await import("./main.ts");
const lines = await pipe.takeWhenWritten(4);
Object.assign(globalThis, { addEventListener, console });
const event = (details: object) => ({ preventDefault: () => {}, ...details });

Deno.test("the rehearsal is answered, then the guest is ready, then it answers the run", () => {
  assertEquals(lines, [
    '{"type":"__result__","value":{"a":[1]}}',
    '{"type":"__result__","value":1}',
    ready.line.replace(/"deno":".*"/, `"deno":"${Deno.version.deno}"`),
    '{"type":"__result__","value":"Ада"}',
  ]);
});

Deno.test("the code finds its context and its tools as globals", () => {
  const { context, tools } = globalThis as unknown as { context: unknown; tools: object };
  assertEquals(context, "context" in run.frame && run.frame.context);
  assertEquals(Object.keys(tools), ["notes", "clock"]);
});

Deno.test("a run that was granted neither has no network and no files", async () => {
  const { message } = await thrownBy(() => fetch("https://example.com/"));
  assertEquals(message, "fetch needs the network tier; this run is in the isolated tier");
  assertEquals(Deno.readTextFile, readTextFile);
});

Deno.test("a failure after the answer says nothing more", () => {
  listeners.get("error")!(event({ error: new Error("late") }));
  listeners.get("unhandledrejection")!(event({ reason: "late" }));
  assertEquals(pipe.take(), []);
});

Deno.test("when nothing is left to happen the guest waits for the host, whose end is its own", async () => {
  const { message } = await thrownBy(() => listeners.get("beforeunload")!(event({})));
  assertEquals([message, pipe.take()], ["exit 0", []]);
});
