import { showReturned } from "./show_returned.ts";
import { assertEquals } from "./testing.ts";

const data = new Uint8Array([1, 2, 3]);
const picture = { type: "image", mimeType: "image/png", data };

Deno.test("a returned picture is displayed, and its size stands for its bytes", () => {
  const shown: unknown[] = [];
  const returned = (value: unknown) => showReturned(value, (bytes) => void shown.push(bytes));
  assertEquals(returned(picture), { type: "image", mimeType: "image/png", bytes: 3 });
  assertEquals(returned(["a", picture]), ["a", { type: "image", mimeType: "image/png", bytes: 3 }]);
  assertEquals(shown, [data, data]);
});

Deno.test("every other value is returned as it is", () => {
  const trap = new Proxy({}, {
    get: () => {
      throw new Error("no");
    },
  });
  for (
    const value of [null, 5, "a", data, { type: "image", data }, { type: "audio", mimeType: "a", data }, trap]
  ) {
    assertEquals(showReturned(value, () => {}) === value, true);
  }
  const refuse = () => {
    throw new TypeError("no picture");
  };
  assertEquals(showReturned(picture, refuse), picture);
});
