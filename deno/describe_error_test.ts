import { describeError } from "./describe_error.ts";
import { MCPToolError } from "./mcp_tool_error.ts";
import { assertEquals, readGolden } from "./testing.ts";

for (const { name, line, frame } of readGolden().guest) {
  if (frame.type !== "__error__") continue;
  Deno.test(`the guest writes the golden line: ${name}`, () => {
    const { name, message, stack, phase } = frame;
    assertEquals(JSON.stringify(describeError({ name, message, stack }, phase)), line);
  });
}

Deno.test("an error is its name, its message and its stack", () => {
  const error = new RangeError("too far");
  const { name, message, stack } = describeError(error, "run");
  assertEquals([name, message, stack], ["RangeError", "too far", error.stack]);
});

Deno.test("what is no error is shown as a thrown value", () => {
  const messageOf = (thrown: unknown) => describeError(thrown, "run").message;
  assertEquals(messageOf("text"), 'a thrown value: "text"');
  assertEquals(messageOf(undefined), "a thrown value: undefined");
  assertEquals(messageOf(null), "a thrown value: null");
  assertEquals(messageOf(5n), "a thrown value: 5n");
  assertEquals(messageOf(Symbol("s")), "a thrown value: Symbol(s)");
  assertEquals(messageOf({ code: 7 }), "a thrown value: { code: 7 }");
  assertEquals(messageOf({ name: 1, message: 2 }), "a thrown value: { name: 1, message: 2 }");
});

Deno.test("hostile objects are survived", () => {
  const nasty = () => {
    throw new Error("gotcha");
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const hostile = [
    new Proxy({}, { get: nasty, ownKeys: nasty, getPrototypeOf: nasty, has: nasty }),
    new Proxy(() => {}, { get: nasty, apply: nasty }),
    Object.defineProperties({}, { name: { get: nasty }, message: { get: nasty }, stack: { get: nasty } }),
    { [Symbol.for("Deno.customInspect")]: nasty },
    { [Symbol.toStringTag]: { toString: nasty } },
    { toString: nasty, valueOf: nasty, toJSON: nasty },
    Object.assign(new Error("x"), { stack: { toString: nasty } }),
    Object.create(null),
    proxy,
  ];
  for (const thrown of hostile) {
    const frame = describeError(thrown, "run");
    assertEquals(Object.keys(frame), ["type", "phase", "name", "message", "stack"]);
    assertEquals(Object.values(frame).every((value) => typeof value === "string"), true);
  }
});

Deno.test("long texts are cut, and never inside a character", () => {
  const text = "a" + "😀".repeat(20_000);
  const { name, message, stack } = describeError({ name: text, message: text, stack: text }, "run");
  assertEquals([name.length, message.length, stack.length], [100, 4096, 16 * 1024]);
  assertEquals([name, message, stack].every((cut) => cut.isWellFormed()), true);
  assertEquals(describeError("x".repeat(1_000_000), "run").message.length < 2000, true);
});

Deno.test("half a character becomes the replacement character", () => {
  assertEquals(describeError(new Error("\ud800"), "run").message, "\ufffd");
});

Deno.test("an error of an MCP server's tool that nobody caught names both", () => {
  const { name, message } = describeError(new MCPToolError("github", "list", "No", "closed", false), "run");
  assertEquals([name, message], ["MCPToolError", 'Tool "list" of MCP server "github": No']);
});
