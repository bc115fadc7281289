import { assertEquals } from "./testing.ts";
import { trackTimers } from "./track_timers.ts";

const timers = globalThis as unknown as Record<string, any>;
const names = ["setTimeout", "setInterval", "setImmediate"];

Deno.test("timers that were set are ended, and those that come later go off", async () => {
  const originals = names.map((name) => timers[name]);
  const wentOff: string[] = [];
  const end = trackTimers();
  try {
    for (const name of names) timers[name](() => wentOff.push(name), 0);
    end();
    await new Promise<void>((resolve) =>
      timers.setTimeout((value: string) => resolve(void wentOff.push(value)), 2, "a")
    );
    end();
    end();
  } finally {
    names.forEach((name, at) => timers[name] = originals[at]);
  }
  assertEquals(wentOff, ["a"]);
});
