import type { ToolCallFrame, ToolErrorFrame, ToolResultFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";
import { ToolError } from "./tool_error.ts";

const pipe = new FakePipe();
const { callHost } = await import("./call_host.ts");
const { guest, host } = readGolden();
const answer = (id: number, result: unknown) =>
  JSON.stringify({ type: "__tool_result__", call_id: String(id), result }) + "\n";

/** Make a call that nobody answers yet; return its number. */
function call(name = "tool", params?: unknown): [Promise<unknown>, number] {
  const promise = callHost(name, params);
  return [promise, Number(JSON.parse(pipe.take()[0]).call_id)];
}

Deno.test("calls are written as the golden lines, and golden answers settle them", async () => {
  const calls = guest.filter(({ frame }) => frame.type === "__tool_call__");
  const promises = calls.map(({ frame, name }) => {
    const { name: tool, params } = frame as ToolCallFrame;
    return callHost(tool, name.endsWith("without arguments") ? undefined : params);
  });
  assertEquals(pipe.take(), calls.map(({ line }) => line));
  const answers = host.filter(({ frame }) => "call_id" in frame);
  pipe.send(answers.map(({ line }) => line + "\n").join(""));
  for (const [at, { frame }] of answers.slice(0, 3).entries()) {
    assertEquals(await promises[at], (frame as ToolResultFrame).result);
  }
  const { error, code } = answers[3].frame as ToolErrorFrame;
  const thrown = await thrownBy(() => promises[3]) as ToolError;
  assertEquals([thrown.message, thrown.code], [error, code]);
});

Deno.test("answers settle by id, in whatever order they come", async () => {
  const [first, firstId] = call();
  const [second, secondId] = call();
  pipe.send(answer(secondId, "second"), answer(firstId, "first"));
  assertEquals(await Promise.all([first, second]), ["first", "second"]);
});

Deno.test("an answer to no call, or a second answer, changes nothing", async () => {
  const [promise, id] = call();
  pipe.send(answer(9999, "nobody's") + answer(id, "first") + answer(id, "second"));
  assertEquals(await promise, "first");
});

Deno.test("an error becomes a ToolError with tool, code and retryable", async () => {
  const [promise, id] = call("notes.add");
  pipe.send(
    `{"type":"__tool_error__","call_id":"${id}","error":"Busy","code":"busy","retryable":true}\n`,
  );
  const error = await thrownBy(() => promise) as ToolError;
  assertEquals(error instanceof ToolError && error instanceof Error, true);
  assertEquals([error.name, error.message, error.tool, error.code, error.retryable], [
    "ToolError",
    "Busy",
    "notes.add",
    "busy",
    true,
  ]);
});

Deno.test("arguments that are not JSON are refused before anything is sent", async () => {
  const error = await thrownBy(() => callHost("notes.add", { then: [() => 1] }));
  assertEquals(error.message, "Cannot call notes.add with arguments.then[0]: a function");
  assertEquals(pipe.take(), []);
});

Deno.test("answers are taken too when something keeps the event loop busy", async () => {
  const busy = setInterval(() => {}, 1000);
  const [first, firstId] = call();
  setTimeout(() => pipe.send(answer(firstId, 1)), 5);
  assertEquals(await first, 1);
  const [second, secondId] = call();
  pipe.send(answer(secondId, 2));
  assertEquals(await second, 2);
  clearInterval(busy);
});
