import { resultLine } from "./result_line.ts";
import { assertEquals, readGolden } from "./testing.ts";
import { toJson } from "./to_json.ts";

for (const { name, line, frame, made_from } of readGolden().guest) {
  if (frame.type !== "__result__") continue;
  Deno.test(`the guest writes the golden line: ${name}`, () => {
    const { json, max_bytes } = made_from ??
      { json: toJson("value" in frame && frame.value, "return", "result"), max_bytes: 32768 };
    assertEquals(resultLine(json, max_bytes), line);
  });
}

Deno.test("a result of exactly the limit in bytes is whole, and one byte more is cut", () => {
  for (const json of ['"abc"', '"ééé"', '"漢字"', '"😀😀"']) {
    const size = new TextEncoder().encode(json).length;
    assertEquals(JSON.parse(resultLine(json, size)), { type: "__result__", value: JSON.parse(json) });
    assertEquals(JSON.parse(resultLine(json, size - 1)).original_bytes, size);
  }
});

Deno.test("a cut falls between characters and leaves room for the words that tell of it", () => {
  const json = JSON.stringify("aé漢😀".repeat(20));
  const size = new TextEncoder().encode(json).length;
  for (let limit = 0; limit < size; limit++) {
    const { text } = JSON.parse(resultLine(json, limit));
    const kept = new TextEncoder().encode(text).length;
    const room = Math.max(0, limit - 120);
    assertEquals(json.startsWith(text) && kept <= room && kept > room - 4, true);
  }
});

Deno.test("a cut falls behind a whole element, also where strings hold commas and quotes", () => {
  const json = JSON.stringify({ a: [1, 'x,"y', { b: "," }], c: "z,".repeat(80) });
  assertEquals(JSON.parse(resultLine(json, 150)).text, '{"a":[1,"x,\\"y",{"b":","}]');
});
