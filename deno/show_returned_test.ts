import { showReturned } from "./show_returned.ts";
import { assertEquals } from "./testing.ts";

const data = new Uint8Array([1, 2, 3]);
const picture = { type: "image", mimeType: "image/png", data };

Deno.test("a returned picture is displayed, and its size stands for its bytes", () => {
  const shown: unknown[] = [];
  const returned = (value: unknown) => showReturned(value, (bytes) => void shown.push(bytes));
  assertEquals(returned(picture), { type: "image", mimeType: "image/png", bytes: 3 });
  assertEquals(returned(["a", picture]), ["a", { type: "image", mimeType: "image/png", bytes: 3 }]);
  assertEquals(shown, [picture, picture]);
});

Deno.test("so are sounds and blobs, also as properties", () => {
  const shown: unknown[] = [];
  const returned = (value: unknown) => showReturned(value, (media) => void shown.push(media));
  const sound = { type: "audio", mimeType: "audio/wav", data };
  const blob = { type: "blob", mimeType: "a/b", uri: "x://y", data: data.subarray(1) };
  assertEquals(returned(sound), { type: "audio", mimeType: "audio/wav", bytes: 3 });
  assertEquals(returned({ a: 1, blob, picture }), {
    a: 1,
    blob: { type: "blob", mimeType: "a/b", uri: "x://y", bytes: 2 },
    picture: { type: "image", mimeType: "image/png", bytes: 3 },
  });
  assertEquals(shown, [sound, { type: "blob", mimeType: "a/b", data: data.subarray(1) }, picture]);
});

Deno.test("what is returned is not changed for the code that holds it, and getters are not read twice", () => {
  let reads = 0;
  const kept = {
    picture,
    get late() {
      return ++reads;
    },
  };
  const returned = showReturned(kept, () => {}) as typeof kept;
  assertEquals([returned.late, returned.late, reads, kept.picture === picture], [1, 1, 1, true]);
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`a${at}`, picture]));
  assertEquals(showReturned(many, () => {}) === many, true);
});

Deno.test("every other value is returned as it is", () => {
  const trap = new Proxy({}, {
    get: () => {
      throw new Error("no");
    },
  });
  for (
    const value of [null, 5, "a", data, { type: "image", data }, { type: "video", mimeType: "a", data }, trap]
  ) {
    assertEquals(showReturned(value, () => {}) === value, true);
  }
  const refuse = () => {
    throw new TypeError("no picture");
  };
  assertEquals(showReturned(picture, refuse), picture);
  const holder = { picture };
  assertEquals(showReturned(holder, refuse) === holder, true);
});
