import { assertEquals, thrownBy } from "./testing.ts";
import { forbidCode } from "./forbid_code.ts";
import { internals } from "./internals.ts";

const AsyncFunction = (async () => {}).constructor as unknown as new (body: string) => () => Promise<unknown>;
forbidCode();
forbidCode(); // as in a process whose code is loaded anew
const name = ["con", "structor"].join("");
const kinds: Record<string, any> = {
  Function: () => {},
  AsyncFunction: async () => {},
  GeneratorFunction: function* () {},
  AsyncGeneratorFunction: async function* () {},
};

for (const [kind, example] of Object.entries(kinds)) {
  Deno.test(`${kind} makes nothing of a text, by whatever way it is reached`, async () => {
    const maker = example[name];
    const ways = [
      () => maker("return 1"),
      () => new maker("return 1"),
      () => maker.call(null, "return 1"),
      () => maker.bind(null)("return 1"),
      () => Reflect.construct(maker, ["return 1"]),
      () => Reflect.construct(class extends maker {}, ["return 1"]),
      () => Object.getPrototypeOf(example)[name]("return 1"),
      () => Object.getPrototypeOf(maker)[name]("return 1"),
    ];
    for (const way of ways) assertEquals((await thrownBy(way)).name, "EvalError");
    assertEquals([maker.name, example instanceof maker], [kind, true]);
  });
}

Deno.test("neither eval nor Deno's own compilers are left, and what was taken before still works", async () => {
  const left = (Deno as any)[(Deno as any).internal];
  assertEquals([Object.keys(left), Object.keys(left.core)], [["core"], [
    "read",
    "readSync",
    "write",
    "writeSync",
  ]]);
  assertEquals(left.core.write === (internals.core as any).write, true);
  assertEquals((await thrownBy(() => globalThis.eval("1"))).name, "EvalError");
  assertEquals(["Worker", "WebAssembly"].filter((each) => each in globalThis), []);
  assertEquals(await new AsyncFunction("return 1")(), 1);
});
