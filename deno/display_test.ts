import type { DisplayFrame } from "./protocol.ts";
import { assertEquals, FakePipe, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { lendDisplay } = await import("./display.ts");
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 1]);
const lent = (count = 20, bytes = 1000) =>
  lendDisplay({ display_limits: [count, bytes], max_frame_bytes: 64 * 1024 });

function shown(...[value, options]: Parameters<ReturnType<typeof lent>>): [string, string, string] {
  assertEquals(lent()(value, options), undefined);
  const { kind, title, data } = JSON.parse(pipe.take()[0]) as DisplayFrame;
  return [kind, title, data];
}

Deno.test("what a value is shown as", () => {
  const jpeg = new Uint8Array([0xff, 0xd8, 0xff, 0xe0]);
  const wide = new Uint8Array([7, ...PNG, 7]).subarray(1, -1);
  const svg = '<?xml version="1.0"?>\n<!-- a -->\n<svg width="1"/>';
  assertEquals(shown(PNG), ["png", "", PNG.toBase64()]);
  assertEquals(shown(wide), ["png", "", PNG.toBase64()]);
  assertEquals(shown(PNG.buffer, { title: "A" }), ["png", "A", PNG.toBase64()]);
  assertEquals(shown({ type: "image", mimeType: "image/jpeg", data: jpeg }), ["jpeg", "", jpeg.toBase64()]);
  assertEquals(shown(`data:image/png;base64,${PNG.toBase64()}`), ["png", "", PNG.toBase64()]);
  assertEquals(shown(svg), ["svg", "", svg]);
  assertEquals(shown(svg, { type: "markdown" }), ["markdown", "", svg]);
  assertEquals(shown("# Title"), ["markdown", "", "# Title"]);
  assertEquals(shown([{ a: 1, b: null }, { a: new Date(0) }]), [
    "table",
    "",
    '[{"a":1,"b":null},{"a":"1970-01-01T00:00:00.000Z"}]',
  ]);
});

Deno.test("what cannot be shown throws at once, and sends nothing", async () => {
  for (const value of [null, undefined, 5, {}, [1], [[1]], () => 1, new Uint8Array([1, 2, 3])]) {
    const error = await thrownBy(() => lent()(value));
    assertEquals(error.name, "TypeError");
  }
  assertEquals(pipe.take(), []);
});

Deno.test("wrong options and a single row are told what to write", async () => {
  const rows = [{ a: 1 }];
  const wrong: [unknown, unknown, string][] = [
    ["x", { type: "bogus" }, 'Cannot display a text as "bogus": it would be shown as "markdown"'],
    ["x", { type: 5 }, 'Cannot display a text as "5": it would be shown as "markdown"'],
    ["x", { type: "table" }, 'Cannot display a text as "table": it would be shown as "markdown"'],
    ["x", "title", "Cannot display with a string for options: write display(value, { title, type })"],
    ["x", 5, "Cannot display with a number for options: write display(value, { title, type })"],
    ["x", ["a"], "Cannot display with an array for options: write display(value, { title, type })"],
    ["x", { caption: "A" }, 'Cannot display with the option "caption": there are title and type'],
    [rows, { type: "markdown" }, 'Cannot display an array as "markdown": it would be shown as "table"'],
    [PNG, { type: "svg" }, 'Cannot display an object as "svg": it would be shown as "png"'],
    [rows[0], {}, "Cannot display a single object: put it into an array, display([row])"],
  ];
  for (const [value, options, message] of wrong) {
    const error = await thrownBy(() => lent()(value, options as object));
    assertEquals([error.name, error.message], ["TypeError", message]);
  }
  assertEquals(pipe.take(), []);
  assertEquals(shown(rows, { type: "table" })[0] + shown(PNG, { type: "png" })[0], "tablepng");
  assertEquals(shown("x", { title: undefined, type: undefined }), ["markdown", "", "x"]);
  assertEquals(shown("x", null as unknown as undefined), ["markdown", "", "x"]);
});

Deno.test("more, or more bytes, than a run may display throws an error that it may catch", async () => {
  const display = lent(2, 20);
  display("a");
  assertEquals((await thrownBy(() => display("b".repeat(20)))).name, "LimitError");
  assertEquals(
    (await thrownBy(() => display(new Uint8Array([...PNG, ...new Uint8Array(30)])))).name,
    "LimitError",
  );
  display("c");
  assertEquals(
    (await thrownBy(() => display("d"))).message,
    "Cannot display: a run may display at most 2 times",
  );
  assertEquals(pipe.take().length, 2);
});

Deno.test("sounds and blobs as tools give them are files of their type", async () => {
  const data = new Uint8Array([1, 2, 3]);
  const media = (type: string, mimeType: unknown) => shown({ type, mimeType, data }).toSpliced(1, 1);
  assertEquals(media("audio", "audio/wav"), ["audio", "audio/wav;base64,AQID"]);
  assertEquals(media("audio", "Audio/L16; rate=8000"), ["audio", "audio/l16;base64,AQID"]);
  assertEquals(media("audio", "of unknown type"), ["blob", "application/octet-stream;base64,AQID"]);
  assertEquals(media("blob", "application/pdf"), ["blob", "application/pdf;base64,AQID"]);
  assertEquals(media("blob", 'a/b"\n'), ["blob", "application/octet-stream;base64,AQID"]);
  assertEquals(media("image", "image/gif"), ["blob", "image/gif;base64,AQID"]);
  assertEquals(shown({ type: "blob", mimeType: "a/b", data: PNG })[0], "png");
  const display = lent();
  for (const value of [{ type: "image", mimeType: "image/png", data }, { type: "audio", data }, { data }]) {
    const { message } = await thrownBy(() => display(value));
    assertEquals(message, "Cannot display bytes that are neither PNG nor JPEG");
  }
  const { message } = await thrownBy(() => lent(1, 2)({ type: "blob", mimeType: "a/b", data }));
  assertEquals(message, "Cannot display 3 bytes: this run may display 2 more");
});

Deno.test("a long table is shown by its first rows, and its title says so", async () => {
  const rows = Array.from({ length: 10_000 }, (_, at) => ({ at, name: `row ${at}` }));
  const display = lendDisplay({ display_limits: [20, 1_000_000], max_frame_bytes: 1_000_000 });
  display(rows, { title: "Long " + "x".repeat(2_000) });
  const { title, data } = JSON.parse(pipe.take()[0]) as DisplayFrame;
  assertEquals([title.length, title.endsWith("xx (the first 1000 of 10000 rows)")], [1_000, true]);
  assertEquals(JSON.parse(data).length, 1_000);
  const wide = rows.slice(0, 1_000).map(() =>
    Object.fromEntries(Array.from({ length: 50 }, (_, at) => [at, 1]))
  );
  assertEquals((await thrownBy(() => display(wide))).message.endsWith("more than 20000 values"), true);
});

Deno.test("rows whose JSON is no object are an error that code may catch", async () => {
  const display = lent();
  for (const row of [new Date(0), new Set([1]), new Uint8Array(1), /a/, { toJSON: () => 5 }]) {
    const { message } = await thrownBy(() => display([{ a: 1 }, row]));
    assertEquals(message, "Cannot display rows[1]: it is no object with fields");
  }
  assertEquals(shown([new Map([["a", 1]])])[2], '[{"a":1}]');
});

Deno.test("a drawing with a document type is a drawing, which the host refuses", () => {
  assertEquals(shown('<!DOCTYPE svg [<!ENTITY a "b">]><svg>&a;</svg>')[0], "svg");
});
