import { beyond } from "./beyond.ts";
import { assertEquals } from "./testing.ts";

Deno.test("a text of as many bytes as it may have is not beyond its limit", () => {
  assertEquals([beyond("", 0), beyond("abc", 3), beyond("é", 2), beyond("😀", 4)], [0, 0, 0, 0]);
});

Deno.test("what is beyond its limit says how many bytes it has", () => {
  assertEquals([beyond("abcd", 3), beyond("éé", 3), beyond("😀", 3)], [4, 4, 4]);
});
