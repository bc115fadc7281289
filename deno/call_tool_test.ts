import type { LentTool, ToolCallFrame, ToolErrorFrame, ToolResultFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";
import { MCPToolError } from "./mcp_tool_error.ts";
import { ToolError } from "./tool_error.ts";

const pipe = new FakePipe();
const { callTool } = await import("./call_tool.ts");
const lent = (name: string, whose?: Partial<LentTool>): LentTool => ({ path: [name], name, ...whose });
const { guest, host } = readGolden();

Deno.test("calls are written as the golden lines, and golden answers settle them", async () => {
  const calls = guest.filter(({ frame }) => frame.type === "__tool_call__");
  const promises = calls.map(({ frame, name }) => {
    const { name: tool, params } = frame as ToolCallFrame;
    return callTool(lent(tool), name.endsWith("without arguments") ? undefined : params);
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

Deno.test("an error becomes a ToolError with tool, code and retryable", async () => {
  const promise = callTool(lent("notes.add"), {});
  const id = JSON.parse(pipe.take()[0]).call_id;
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

Deno.test("an error of an MCP server's tool says whose it is, and is a ToolError too", async () => {
  const promise = callTool(lent("git_hub.list", { server: "git-hub", tool: "list" }), {});
  const [call] = pipe.take().map((line) => JSON.parse(line));
  assertEquals(call.name, "git_hub.list");
  pipe.send(
    `{"type":"__tool_error__","call_id":"${call.call_id}","error":"No","code":"mcp_-32602","retryable":false}\n`,
  );
  const error = await thrownBy(() => promise) as MCPToolError;
  assertEquals(error instanceof MCPToolError && error instanceof ToolError, true);
  const { name, message, server, tool, code, retryable } = error;
  assertEquals([name, message, server, tool, code, retryable], [
    "MCPToolError",
    "No",
    "git-hub",
    "list",
    "mcp_-32602",
    false,
  ]);
});

Deno.test("arguments that are not JSON are refused before anything is sent", async () => {
  const error = await thrownBy(() => callTool(lent("notes.add"), { then: [() => 1] }));
  assertEquals(error.message, "Cannot call notes.add with arguments.then[0]: a function");
  assertEquals(pipe.take(), []);
});

Deno.test("an error's stack names the line that called, also when many are waited for together", async () => {
  const whoCalls = async () => void await callTool(lent("a"), {});
  const whoCallsMany = async () => void await Promise.all([callTool(lent("a"), {})]);
  for (const who of [whoCalls, whoCallsMany]) {
    const promise = who();
    const id = JSON.parse(pipe.take()[0]).call_id;
    pipe.send(`{"type":"__tool_error__","call_id":"${id}","error":"e","code":"c","retryable":false}\n`);
    const { stack } = await thrownBy(() => promise);
    assertEquals([stack!.split("\n")[0], stack!.includes(`${who.name} `)], ["ToolError: e", true]);
  }
});

Deno.test("a result has a Uint8Array in each place that the host names, and nowhere else", async () => {
  const answers: [string, unknown][] = [
    ['{"a":["AQI=",{"data":"/w=="}],"b":"AQI="},"bytes":[["a",0],["a",1,"data"]]', {
      a: [new Uint8Array([1, 2]), { data: new Uint8Array([255]) }],
      b: "AQI=",
    }],
    ['"AQI=","bytes":[[]]', new Uint8Array([1, 2])],
    ['{"bytes":[["a"]],"a":"AQI="}', { bytes: [["a"]], a: "AQI=" }],
  ];
  for (const [result, expected] of answers) {
    const promise = callTool(lent("camera"), {});
    const id = JSON.parse(pipe.take()[0]).call_id;
    pipe.send(`{"type":"__tool_result__","call_id":"${id}","result":${result}}\n`);
    assertEquals(await promise, expected);
  }
});

Deno.test("bytes instead of an object with arguments are refused before anything is sent", async () => {
  for (const bytes of [new Uint8Array(2), new ArrayBuffer(2)]) {
    const error = await thrownBy(() => callTool(lent("rev"), bytes)) as ToolError;
    assertEquals([error.name, error.code], ["ToolError", "invalid_arguments"]);
    assertEquals(
      error.message,
      "tools.rev takes one object with its arguments, not bytes: give them a name, as in { data: bytes }",
    );
  }
  assertEquals(pipe.take(), []);
});
