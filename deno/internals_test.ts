import { internals } from "./internals.ts";
import { assertEquals } from "./testing.ts";

Deno.test("this Deno has a console that can be told where to print", () => {
  const printed: [string, number][] = [];
  const console = new internals.Console((text, level) => printed.push([text, level]));
  console.debug("a");
  console.log("%s-%d", "b", 1);
  console.info("c");
  console.warn("d");
  console.error("e");
  assertEquals(printed, [["a\n", 0], ["b-1\n", 1], ["c\n", 1], ["d\n", 2], ["e\n", 3]]);
});

Deno.test("this Deno has a timer that is not a reason for the event loop to go on", async () => {
  const keepsLoopAlive = setTimeout(() => {}, 5000);
  await new Promise<void>((resolve) => internals.core.createSystemTimer(resolve, 1, false));
  clearTimeout(keepsLoopAlive);
});

Deno.test("this Deno has the newer JavaScript that is used", () => {
  assertEquals("rawJSON" in JSON, true);
  assertEquals("\ud800".toWellFormed(), "\ufffd");
  assertEquals(new Uint8Array([1, 2]).toBase64(), "AQI=");
});
