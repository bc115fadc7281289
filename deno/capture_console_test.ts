import type { OutputFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden } from "./testing.ts";

const pipe = new FakePipe();
const { captureConsole, limitConsole, writeLog } = await import("./capture_console.ts");

/** What the action sends, as level and text, with the captured console in place. */
function output(action: () => void): [string, string][] {
  const before = globalThis.console;
  captureConsole();
  try {
    action();
  } finally {
    globalThis.console = before;
  }
  return pipe.take().map((line) => JSON.parse(line) as OutputFrame).map(({ level, data }) => [level, data]);
}

for (const { name, line, frame } of readGolden().guest) {
  if (frame.type !== "__output__") continue;
  Deno.test(`the guest writes the golden line: ${name}`, () => {
    writeLog(frame.level, frame.data + "\n");
    assertEquals(pipe.take(), [line]);
  });
  Deno.test(`console writes the golden line: ${name}`, () => {
    const before = globalThis.console;
    captureConsole();
    console[frame.level](frame.data);
    globalThis.console = before;
    assertEquals(pipe.take(), [line]);
  });
}

Deno.test("formats and objects are printed as people know it", () => {
  assertEquals(output(() => console.log("%s has %d", "a", 2, { b: [1] }, null)), [
    ["log", "a has 2 { b: [ 1 ] } null"],
  ]);
});

Deno.test("groups indent", () => {
  const lines = output(() => {
    console.group("outer");
    console.info("inner");
    console.groupEnd();
    console.log("after");
  });
  assertEquals(lines, [["log", "outer"], ["info", "  inner"], ["log", "after"]]);
});

Deno.test("tables, counts, assertions and directories go the same way", () => {
  const lines = output(() => {
    console.count();
    console.dir({ a: 1 });
    console.assert(false, "no");
    console.table([{ a: 1 }]);
  });
  assertEquals(lines.map(([level]) => level), ["log", "log", "error", "log"]);
  assertEquals(lines[3][1].includes("│ (idx) │ a │"), true);
});

Deno.test("info inside a getter that throws does not make the next line info", () => {
  const hostile = { [Symbol.for("Deno.customInspect")]: () => Promise.reject.call(undefined) };
  const lines = output(() => {
    try {
      console.info(hostile);
    } catch { /* what it throws is the agent's own affair */ }
    console.log("next");
  });
  assertEquals(lines.at(-1), ["log", "next"]);
});

Deno.test("half a character becomes the replacement character", () => {
  assertEquals(output(() => console.log("a\ud800")), [["log", "a\ufffd"]]);
});

Deno.test("a final line end is not part of the text, and an empty write is nothing", () => {
  writeLog("log", "a\n");
  writeLog("log", "a\n\n");
  writeLog("log", "\n");
  writeLog("log", "");
  assertEquals(pipe.take().map((line) => JSON.parse(line).data), ["a", "a\n", ""]);
});

Deno.test("a text over the limit is cut one character behind it, and never inside one", () => {
  limitConsole(10);
  writeLog("log", "x".repeat(1_000_000));
  writeLog("log", "😀".repeat(20));
  limitConsole(64 * 1024);
  assertEquals(pipe.take().map((line) => JSON.parse(line).data), ["x".repeat(11), "😀".repeat(5) + "\ufffd"]);
});
