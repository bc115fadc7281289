import { assertEquals, thrownBy } from "./testing.ts";
import { visibleBytes } from "./visible_bytes.ts";

const GONE = "its bytes are gone: the buffer was transferred or made smaller";
const shown = (value: unknown) => {
  const bytes = visibleBytes(value);
  return bytes && [...bytes];
};

Deno.test("only the part that a view shows is visible", () => {
  const whole = new Uint8Array([9, 1, 2, 9]);
  assertEquals(shown(whole.subarray(1, 3)), [1, 2]);
  assertEquals(shown(new Uint8ClampedArray(whole.buffer, 1, 2)), [1, 2]);
  assertEquals(shown(new DataView(whole.buffer, 1, 2)), [1, 2]);
  assertEquals(shown(whole.buffer), [9, 1, 2, 9]);
  assertEquals(shown(new Uint8Array(new SharedArrayBuffer(8), 2, 3)), [0, 0, 0]);
  for (const other of [null, 5, "a", {}, [1], new Float64Array(1), new SharedArrayBuffer(1)]) {
    assertEquals(shown(other), undefined);
  }
});

Deno.test("what a view says of itself does not widen what it shows", () => {
  const view = new Uint8Array([9, 9, 1]).subarray(2);
  Object.defineProperties(view, { byteOffset: { value: 0 }, byteLength: { value: 3 } });
  assertEquals(shown(view), [1]);
});

Deno.test("a buffer that can be resized shows what it has now", () => {
  const buffer = new ArrayBuffer(8, { maxByteLength: 100 });
  const [growing, fixed] = [new Uint8Array(buffer, 4), new Uint8Array(buffer, 4, 4)];
  buffer.resize(10);
  assertEquals([shown(buffer)!.length, shown(growing)!.length, shown(fixed)!.length], [10, 6, 4]);
});

Deno.test("bytes that are gone are an error, not an empty array", async () => {
  const transferred = new Uint8Array(4);
  structuredClone(transferred.buffer, { transfer: [transferred.buffer] });
  const buffer = new ArrayBuffer(8, { maxByteLength: 8 });
  const cut = [new Uint8Array(buffer, 4, 4), new DataView(buffer, 4, 4)];
  buffer.resize(6);
  for (const value of [transferred, transferred.buffer, ...cut]) {
    assertEquals((await thrownBy(() => visibleBytes(value))).message, GONE);
  }
});
