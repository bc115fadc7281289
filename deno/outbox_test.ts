import { Outbox } from "./outbox.ts";
import type { ResideFrame } from "./protocol.ts";
import { assertEquals, thrownBy } from "./testing.ts";

const limits = { max_emitted: 2, max_signal_bytes: 16 } as ResideFrame;

Deno.test("what is emitted is taken down at once, in its order", () => {
  const data = { a: 1 };
  const outbox = new Outbox(limits);
  const { emit } = outbox;
  emit("first.one", data);
  data.a = 2;
  emit("second_2");
  assertEquals(outbox.close(), '[["first.one",{"a":1}],["second_2",null]]');
});

Deno.test("the result of a function is what it emits", async () => {
  const [outbox, late] = [new Outbox(limits), new Outbox(limits)];
  outbox.give({ a: [1, undefined] });
  assertEquals(outbox.close(), '[["result",{"a":[1,null]}]]');
  late.close();
  late.give(1);
  assertEquals(late.close(), "[]");
  const { name, message } = await thrownBy(() => new Outbox(limits).give("x".repeat(20)));
  assertEquals([name, message], ["LimitError", "Cannot return a result of 22 bytes, more than 16"]);
  const thrown = await thrownBy(() => new Outbox(limits).give({ a: () => 1 }));
  assertEquals(thrown.message, "Cannot return result.a: a function");
});

Deno.test("what is emitted after the end is dropped, whatever it is", () => {
  const outbox = new Outbox(limits);
  assertEquals(outbox.close(), "[]");
  outbox.emit("late", "x".repeat(100));
  outbox.emit(1 as unknown as string);
  assertEquals(outbox.close(), "[]");
});

for (
  const type of ["", "Price", "a b", "1a", "a-b", "é", "a".repeat(65), undefined, 1, { toString: () => "a" }]
) {
  Deno.test(`${JSON.stringify(type)} is no type of a signal`, async () => {
    const outbox = new Outbox(limits);
    const { name, message } = await thrownBy(() => outbox.emit(type as string));
    assertEquals([name, message.startsWith("Cannot emit: a type is")], ["TypeError", true]);
    assertEquals(outbox.close(), "[]");
  });
}

Deno.test("one signal more than may be emitted is an error that the code can catch", async () => {
  const outbox = new Outbox(limits);
  outbox.emit("a");
  outbox.emit("b");
  const { name, message } = await thrownBy(() => outbox.emit("c"));
  assertEquals([name, message], ["LimitError", 'Cannot emit "c": one signal may emit at most 2']);
  assertEquals(outbox.close(), '[["a",null],["b",null]]');
});

Deno.test("data that is too long, or no JSON, is an error that the code can catch", async () => {
  const outbox = new Outbox(limits);
  outbox.emit("a", "é".repeat(7));
  const long = await thrownBy(() => outbox.emit("b", "é".repeat(8)));
  assertEquals(long.message, 'Cannot emit "b": its data has 18 bytes, more than 16');
  const odd = await thrownBy(() => outbox.emit("b", { a: [() => 1] }));
  assertEquals(odd.message, 'Cannot emit "b" with data.a[0]: a function');
  assertEquals(outbox.close(), '[["a","ééééééé"]]');
});
