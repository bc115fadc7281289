import { assertEquals, FakePipe, readGolden } from "./testing.ts";

const pipe = new FakePipe();
const { writeFrame, writeLine } = await import("./write_frame.ts");
const plain = ["__ready__", "__output__", "__debug__", "__error__"];

for (const { name, line, frame } of readGolden().guest) {
  if (!plain.includes(frame.type)) continue;
  Deno.test(`the guest writes the golden line: ${name}`, () => {
    writeFrame(frame);
    assertEquals(pipe.take(), [line]);
  });
}

Deno.test("a frame is written whole though the pipe takes a few bytes at a time", () => {
  pipe.maxWrite = 3;
  writeLine('{"text":"é 漢字 😀"}');
  pipe.maxWrite = Infinity;
  assertEquals(pipe.take(), ['{"text":"é 漢字 😀"}']);
});

Deno.test("patching JSON and TextEncoder does not change what is written", () => {
  const { stringify } = JSON;
  const { encode } = TextEncoder.prototype;
  JSON.stringify = () => "forged";
  TextEncoder.prototype.encode = () => new Uint8Array(1);
  try {
    writeFrame({ type: "__debug__", message: "idle" });
  } finally {
    JSON.stringify = stringify;
    TextEncoder.prototype.encode = encode;
  }
  assertEquals(pipe.take(), ['{"type":"__debug__","message":"idle"}']);
});
