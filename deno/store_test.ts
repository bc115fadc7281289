import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { lendStore, storeSettled } = await import("./store.ts");
const { guest } = readGolden();

interface Store {
  get(key: string): Promise<unknown>;
  set(key: string, value?: unknown): Promise<void>;
  delete(key: string): Promise<boolean>;
  keys(): Promise<string[]>;
}

const store = lendStore({ max_frame_bytes: 64 * 1024 }) as Store;
let lastId = 0;

/** Answer the calls that come next, in their order. */
function willAnswer(...results: unknown[]): void {
  for (const result of results) {
    pipe.send(JSON.stringify({ type: "__tool_result__", call_id: String(++lastId), result }) + "\n");
  }
}

function willRefuse(code: string): void {
  const call_id = String(++lastId);
  pipe.send(JSON.stringify({ type: "__tool_error__", call_id, error: "why", code, retryable: false }) + "\n");
}

Deno.test("calls are written as the golden lines", async () => {
  const lines = guest.filter(({ frame }) => frame.type === "__store__").map(({ line }) => line);
  willAnswer(null, [{ a: 1 }], true, ["a"]);
  assertEquals(await store.set('é 漢字 😀 "quote"\n', { a: [1, null, "x"] }), undefined);
  assertEquals(await store.get("__proto__"), { a: 1 });
  assertEquals(await store.delete("../../etc/passwd"), true);
  assertEquals(await store.keys(), ["a"]);
  assertEquals(pipe.take(), lines);
});

Deno.test("a value that is null is told from none", async () => {
  willAnswer([null], []);
  assertEquals([await store.get("a"), await store.get("b")], [null, undefined]);
  pipe.take();
});

Deno.test("undefined is kept as null, and what has no form in JSON is refused here", async () => {
  willAnswer(null);
  await store.set("a");
  assertEquals(JSON.parse(pipe.take()[0]).value, null);
  assertEquals(
    (await thrownBy(() => store.set("a", { f: () => 1 }))).message,
    'Cannot keep "a": value.f: a function',
  );
  assertEquals(pipe.take(), []);
});

Deno.test("a key that is no string, and a key or value that is too long, are refused here", async () => {
  const names = [];
  for (
    const call of [
      () => store.get(1 as unknown as string),
      () => store.set({} as unknown as string, 1),
      () => store.get("k".repeat(257)),
      () => store.set("a", "x".repeat(64 * 1024)),
    ]
  ) names.push((await thrownBy(call)).name);
  assertEquals(names, ["TypeError", "TypeError", "LimitError", "LimitError"]);
  assertEquals(pipe.take(), []);
});

Deno.test("refusals are errors with their code, and a limit is a LimitError", async () => {
  willRefuse("limit");
  const full = await thrownBy(() => store.set("a", 1));
  assertEquals([full.name, full.message, (full as { code?: string }).code], ["LimitError", "why", "limit"]);
  willRefuse("no_conversation");
  const none = await thrownBy(() => store.keys());
  assertEquals([none.name, (none as { code?: string }).code], ["Error", "no_conversation"]);
  pipe.take();
});

Deno.test("calls that the code does not wait for are sent in its order, and waited for at its end", async () => {
  assertEquals(storeSettled(), undefined);
  const [one, two, key] = [store.set("a", 1), store.set("a", 2), store.get("a")];
  const settled = storeSettled();
  willAnswer(null, null, [2]);
  await settled;
  assertEquals(pipe.take().map((line) => JSON.parse(line).value), [1, 2, null]);
  assertEquals(await Promise.all([one, two, key]), [undefined, undefined, 2]);
  assertEquals(storeSettled(), undefined);
});

Deno.test("a refusal does not hold up the calls behind it", async () => {
  const first = thrownBy(() => store.set("a", 1));
  const second = store.get("a");
  willRefuse("limit");
  willAnswer([]);
  assertEquals([(await first).name, await second], ["LimitError", undefined]);
  pipe.take();
});

Deno.test("the store has no prototype and cannot be changed", () => {
  assertEquals([Object.getPrototypeOf(store), Object.isFrozen(store), "constructor" in store], [
    null,
    true,
    false,
  ]);
});
