import { assertEquals, FakePipe, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const listeners = new Map<string, (event: unknown) => void>();
const { addEventListener, console } = globalThis;
globalThis.addEventListener = (type: string, listener: unknown) =>
  void listeners.set(type, listener as (event: unknown) => void);
const run = (code: string) => ({
  type: "__run__",
  code,
  context: {},
  tools: [],
  tier: "isolated",
  workspace: false,
  max_result_bytes: 64,
  max_output_bytes: 64,
  max_frame_bytes: 65536,
});
const failing = ["const a = ;", 'throw new RangeError("too far")', "return { a: () => 1 }"];
pipe.send(JSON.stringify({ type: "__rehearse__", runs: failing.map(run) }) + "\n");
pipe.send(JSON.stringify(run("console.log(1); await new Promise(() => {})")) + "\n");
await import("./main.ts");
const lines = await pipe.takeWhenWritten(5);
Object.assign(globalThis, { addEventListener, console });
const event = (details: object) => ({ preventDefault: () => {}, ...details });

Deno.test("a failure says in which phase it was", () => {
  const [compile, run, result] = lines.map((line) => JSON.parse(line));
  assertEquals([compile.type, compile.phase], ["__error__", "compile"]);
  assertEquals([run.phase, run.name, run.message], ["run", "RangeError", "too far"]);
  assertEquals([result.phase, result.name, result.message], [
    "return",
    "TypeError",
    "Cannot return result.a: a function",
  ]);
});

Deno.test("the code's console is the captured one", () => {
  assertEquals(lines[4], '{"type":"__output__","level":"log","data":"1"}');
});

Deno.test("a run that waits for nothing says that it is idle", async () => {
  await thrownBy(() => listeners.get("beforeunload")!(event({})));
  assertEquals(pipe.take(), ['{"type":"__debug__","message":"idle"}']);
});

Deno.test("the first error that nobody catches ends the run, and the second says nothing", () => {
  listeners.get("unhandledrejection")!(event({ reason: new TypeError("nobody caught me") }));
  listeners.get("error")!(event({ error: new Error("nor me") }));
  const [frame, ...more] = pipe.take().map((line) => JSON.parse(line));
  assertEquals([frame.type, frame.phase, frame.name, frame.message, more.length], [
    "__error__",
    "run",
    "TypeError",
    "nobody caught me",
    0,
  ]);
});
