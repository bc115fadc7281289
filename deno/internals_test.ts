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

Deno.test("this Deno says when all promise reactions are done, and whether anything is left to happen", async () => {
  const order: string[] = [];
  const { core } = internals;
  await null; // from here on this is a reaction itself
  const tick = new Promise<void>((resolve) =>
    core.queueNextTick({
      callback: () => {
        core.setHasTickScheduled(false);
        order.push(`tick, more work: ${core.eventLoopHasMoreWork()}`);
        resolve();
      },
      asyncId: 0,
      triggerAsyncId: 0,
    })
  );
  const timer = setTimeout(() => {}, 1000);
  for (let turn = 0; turn < 20; turn++) await null;
  order.push("reactions");
  await tick;
  clearTimeout(timer);
  assertEquals(order, ["reactions", "tick, more work: true"]);
});

Deno.test("this Deno has the newer JavaScript that is used", () => {
  assertEquals("rawJSON" in JSON, true);
  assertEquals("\ud800".toWellFormed(), "\ufffd");
  assertEquals(new Uint8Array([1, 2]).toBase64(), "AQI=");
});
