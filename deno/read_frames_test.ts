import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { readFrames, readFramesSync } = await import("./read_frames.ts");
const { host } = readGolden();
const bytesOf = (text: string) => new TextEncoder().encode(text);

for (const { name, line, frame } of host) {
  Deno.test(`the guest reads the golden line: ${name}`, async () => {
    pipe.send(line + "\n");
    assertEquals(readFramesSync(), [frame]);
    pipe.send(line + "\n");
    assertEquals(await readFrames(), [frame]);
  });
}

Deno.test("a frame cut at any byte is the same frame", () => {
  const { line, frame } = host.find(({ name }) => name === "a tool's result that is awkward text")!;
  const bytes = bytesOf(line + "\n");
  for (let at = 0; at <= bytes.length; at++) {
    pipe.send(...[bytes.slice(0, at), bytes.slice(at)].filter((piece) => piece.length > 0));
    assertEquals(readFramesSync(), [frame]);
  }
});

Deno.test("frames that come together are read together, and half a frame waits for the rest", () => {
  const [first, second, third] = host;
  pipe.send(`${first.line}\n${second.line}\n${third.line.slice(0, 50)}`, `${third.line.slice(50)}\n`);
  assertEquals(readFramesSync(), [first.frame, second.frame]);
  assertEquals(readFramesSync(), [third.frame]);
});

Deno.test("a frame of megabytes is read", () => {
  const result = "é".repeat(2_000_000);
  pipe.send(`{"type":"__tool_result__","call_id":"1","result":"${result}"}\n`);
  assertEquals(readFramesSync(), [{ type: "__tool_result__", call_id: "1", result }]);
});

Deno.test("a host that is gone ends the process", async () => {
  assertEquals((await thrownBy(() => readFramesSync())).message, "exit 0");
});
