import { assertEquals, FakePipe } from "./testing.ts";

const pipe = new FakePipe();
const { makeRepeatable, prepareToRepeat } = await import("./make_repeatable.ts");

// It changes the process for good, and says so once: every program has a world of its own to be tried in.
Deno.test("what asks for nothing is not told of, and what asks is told of once", () => {
  const real = new Date(5).getTime();
  prepareToRepeat();
  makeRepeatable("wholly");
  const constructors = [
    new Date(5).getTime(),
    new Date(2020, 1).getTime() > real,
    Date.UTC(2020),
    Date.parse("1970"),
  ];
  assertEquals(constructors, [5, true, 1577836800000, 0]);
  assertEquals(new Date(5).constructor === Date && new Date(5) instanceof Date, true);
  assertEquals(class extends Date {}.now === Date.now, true);
  assertEquals((() => {}).constructor === Function && (() => {}) instanceof Function, true);
  assertEquals([console.log.name, typeof Math.max, (1234.5).toLocaleString()], [
    "log",
    "function",
    "1,234.5",
  ]);
  assertEquals(pipe.take(), []);

  const first = Date.now();
  assertEquals(pipe.take(), ['{"type":"__varied__","what":"Date.now"}']);
  assertEquals([first, Date.now(), new Date().getTime()], [946684800000, 946684800001, 946684800002]);
  assertEquals(Date().slice(0, 15), "Sat Jan 01 2000");
  assertEquals(Math.random() !== Math.random(), true);
  assertEquals(crypto.getRandomValues(new Uint16Array(4)).every((number) => number < 2 ** 16), true);
  assertEquals(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()),
    true,
  );
  assertEquals([performance.timeOrigin, Math.floor(performance.now())], [946684800000, 4]);
  assertEquals(Function("return 1")(), 1);
  assertEquals(pipe.take(), []);
});

Deno.test("code may put something of its own in the place of a global", () => {
  const world = globalThis as unknown as Record<string, unknown>;
  for (const name of ["Function", "Date"]) {
    world[name] = "mine";
    assertEquals(world[name], "mine");
  }
});
