import { internals } from "./internals.ts";
import { assertEquals, FakePipe, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { callHost, callHostSync, limitCalls } = await import("./call_host.ts");
const fields = '"operation":"stat","params":{}';
/** What the promise comes to, when it is no refusal. */
const resultOf = async (promise: ReturnType<typeof callHost>) => {
  const answer = await promise;
  return "result" in answer ? answer.result : undefined;
};
const callSync = () => {
  const answer = callHostSync("__file__", fields);
  return answer !== undefined && "result" in answer ? answer.result : answer;
};
const answer = (id: number, result: unknown) =>
  JSON.stringify({ type: "__tool_result__", call_id: String(id), result }) + "\n";

/** Make a call that nobody answers yet; return its number. */
function call(signal?: AbortSignal): [Promise<unknown>, number] {
  const promise = resultOf(callHost("__file__", fields, signal));
  return [promise, Number(JSON.parse(pipe.take()[0]).call_id)];
}

Deno.test("a call is its type, its id and its fields, and its answer is a frame", async () => {
  const promise = callHost("__file__", fields);
  assertEquals(pipe.take(), [`{"type":"__file__","call_id":"1",${fields}}`]);
  pipe.send(answer(1, { deep: [1] }));
  assertEquals(await promise, { type: "__tool_result__", call_id: "1", result: { deep: [1] } });
});

Deno.test("answers settle by id, in whatever order they come", async () => {
  const [first, firstId] = call();
  const [second, secondId] = call();
  pipe.send(answer(secondId, "second"), answer(firstId, "first"));
  assertEquals(await Promise.all([first, second]), ["first", "second"]);
});

Deno.test("an answer to no call, or a second answer, changes nothing", async () => {
  const [promise, id] = call();
  pipe.send(answer(9999, "nobody's") + answer(id, "first") + answer(id, "second"));
  assertEquals(await promise, "first");
});

Deno.test("answers are taken too when something keeps the event loop busy", async () => {
  const keepsBusy = setInterval(() => {}, 1000);
  const [first, firstId] = call();
  setTimeout(() => pipe.send(answer(firstId, 1)), 5);
  assertEquals(await first, 1);
  const [second, secondId] = call();
  pipe.send(answer(secondId, 2));
  assertEquals(await second, 2);
  clearInterval(keepsBusy);
});

Deno.test("a synchronous call waits for its own answer, and settles the others that come before it", async () => {
  const [other, otherId] = call();
  pipe.send(answer(otherId, "other"), answer(otherId + 1, "own"));
  assertEquals(callSync(), "own");
  assertEquals(await other, "other");
  pipe.take();
});

Deno.test("a synchronous call is not sent while answers are read asynchronously, and works again after that", async () => {
  const keepsBusy = setInterval(() => {}, 1000);
  const [other, otherId] = call();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assertEquals([callSync(), pipe.take()], [undefined, []]);
  pipe.send(answer(otherId, 1));
  await other;
  pipe.send(answer(otherId + 1, 2));
  assertEquals(callSync(), 2);
  clearInterval(keepsBusy);
  pipe.take();
});

Deno.test("an abort is told to the host and rejects with its reason; an answer that comes late is nobody's", async () => {
  const controller = new AbortController();
  const keepsBusy = setInterval(() => {}, 1000);
  const [promise, id] = call(controller.signal);
  const [other, otherId] = call();
  controller.abort("too slow");
  assertEquals(pipe.take(), [`{"type":"__abort__","call_id":"${id}"}`]);
  assertEquals(await thrownBy(() => promise) as unknown, "too slow");
  pipe.send(answer(id, "late"), answer(otherId, "other"));
  assertEquals(await other, "other");
  clearInterval(keepsBusy);
});

Deno.test("a signal is no longer listened to once the answer is there: its clock would keep the loop busy", async () => {
  const { core } = internals;
  const hasWork = () =>
    new Promise<boolean>((resolve) => {
      const callback = () => {
        core.setHasTickScheduled(false);
        resolve(core.eventLoopHasMoreWork());
      };
      core.queueNextTick({ callback, asyncId: 0, triggerAsyncId: 0 });
    });
  const [promise, id] = call(AbortSignal.timeout(60_000));
  const before = await hasWork();
  pipe.send(answer(id, 1));
  await promise;
  assertEquals([before, await hasWork(), pipe.take()], [true, false, []]);
});

Deno.test("a signal's own clock runs while an answer is waited for", async () => {
  const [promise, id] = call(AbortSignal.timeout(5));
  assertEquals((await thrownBy(() => promise)).name, "TimeoutError");
  assertEquals(pipe.take(), [`{"type":"__abort__","call_id":"${id}"}`]);
  pipe.send(answer(id, "late")); // lets the read that is under way end
});

interface Arrived {
  call_id: string;
  params: unknown;
}

/** Make so many calls at once, each with its number. */
const callMany = (count: number) =>
  upTo(count).map((number) => resultOf(callHost("__file__", `"operation":"x","params":${number}`)));
const upTo = (end: number, start = 0) => Array.from({ length: end - start }, (_, at) => start + at);
const arrived = () => pipe.take().map((line) => JSON.parse(line) as Arrived);
const numbersOf = (calls: Arrived[]) => calls.map(({ params }) => params);
const answerTo = (calls: Arrived[]) =>
  pipe.send(calls.map(({ call_id, params }) => answer(Number(call_id), params)).join(""));

Deno.test("of many calls two hundred are with the host, and the others follow in their order", async () => {
  const keepsBusy = setInterval(() => {}, 1000);
  const promises = callMany(450);
  const first = arrived();
  assertEquals(numbersOf(first), upTo(200));
  answerTo(first.slice(150)); // whichever answer comes makes room for the call that has waited longest
  await Promise.all(promises.slice(150, 200));
  const second = arrived();
  assertEquals(numbersOf(second), upTo(250, 200));
  answerTo([...first.slice(0, 150), ...second]);
  await Promise.all(promises.slice(0, 250));
  const third = arrived();
  assertEquals(numbersOf(third), upTo(450, 250));
  answerTo(third);
  assertEquals(await Promise.all(promises), upTo(450));
  clearInterval(keepsBusy);
});

Deno.test("what was held back is sent and answered too while nothing else goes on", async () => {
  const promises = callMany(450);
  const [{ call_id }] = arrived();
  for (const start of [0, 200, 400]) {
    const numbers = upTo(Math.min(start + 200, 450), start);
    pipe.send(numbers.map((number) => answer(Number(call_id) + number, number)).join(""));
  }
  assertEquals(await Promise.all(promises), upTo(450));
  assertEquals(numbersOf(arrived()), upTo(450, 200));
});

Deno.test("calls are held back by their bytes too, and never more than two of the longest frames are sent", async () => {
  limitCalls(1000);
  const keepsBusy = setInterval(() => {}, 1000);
  // Two hundred characters, six hundred bytes.
  const promises = upTo(5).map(() =>
    resultOf(callHost("__file__", `"operation":"x","params":"${"漢".repeat(200)}"`))
  );
  const first = arrived();
  assertEquals(first.length, 2);
  answerTo(first.slice(0, 1));
  await promises[0];
  const second = arrived();
  assertEquals(second.length, 1);
  answerTo([...first.slice(1), ...second]);
  await promises[2];
  answerTo(arrived());
  assertEquals((await Promise.all(promises)).length, 5);
  clearInterval(keepsBusy);
  limitCalls(64 * 1024);
  assertEquals(pipe.take(), []);
});

Deno.test("a synchronous call is not held back, and those that are held back come after it", async () => {
  const promises = callMany(201);
  const first = arrived();
  const own = Number(first[0].call_id) + 200;
  pipe.send(answer(own, "own"));
  assertEquals(callSync(), "own");
  assertEquals(pipe.take().length, 1);
  answerTo(first);
  pipe.send(answer(own + 1, 200));
  assertEquals(await Promise.all(promises), upTo(201));
  assertEquals(numbersOf(arrived()), [200]);
});

Deno.test("a call that is given up before it was sent is never sent", async () => {
  const keepsBusy = setInterval(() => {}, 1000);
  const controller = new AbortController();
  const promises = callMany(200);
  const held = callHost("__fetch__", fields, controller.signal);
  const last = callHost("__fetch__", fields);
  const first = arrived();
  controller.abort("too slow");
  assertEquals(await thrownBy(() => held) as unknown, "too slow");
  assertEquals(pipe.take(), []);
  answerTo(first);
  await Promise.all(promises);
  const others = arrived();
  assertEquals(others.length, 1);
  answerTo(others);
  await last;
  clearInterval(keepsBusy);
});

Deno.test("a call that is given up keeps its place until the host has done with it", async () => {
  const controller = new AbortController();
  const givenUp = upTo(200).map(() => callHost("__fetch__", fields, controller.signal));
  const first = arrived();
  controller.abort("too slow");
  assertEquals((await Promise.allSettled(givenUp)).every(({ status }) => status === "rejected"), true);
  assertEquals(pipe.take().length, 200); // told so
  const next = resultOf(callHost("__file__", fields));
  assertEquals(pipe.take(), []);
  answerTo(first.slice(0, 1));
  pipe.send(answer(Number(first[0].call_id) + 200, "next"));
  assertEquals(await next, "next");
  assertEquals(pipe.take().length, 1);
});
