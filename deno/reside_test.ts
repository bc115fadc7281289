import type { ResideFrame } from "./protocol.ts";
import { assertEquals, FakePipe, readGolden, thrownBy } from "./testing.ts";

const pipe = new FakePipe();
const { failSignal, reside } = await import("./reside.ts");
const { guest } = readGolden();
const terms: Omit<ResideFrame, "code"> = {
  type: "__reside__",
  deterministic: false,
  tools: [{ path: ["add"], name: "add" }],
  tier: "isolated",
  workspace: false,
  max_output_bytes: 1000,
  max_frame_bytes: 500,
  max_state_bytes: 100,
  max_emitted: 2,
  max_signal_bytes: 400,
  is_function: false,
};
const LOADED = '{"type":"__result__","value":null}';
const WAKE = '{"type":"__tool_error__","call_id":"0","error":"","code":"","retryable":false}\n';
const globals = globalThis as unknown as Record<string, any>;

addEventListener("unhandledrejection", (event) => {
  if (failSignal(() => event.reason)) event.preventDefault(); // as main.ts does
});

/** Let the code stay until the host is gone, and put everything back that it was given; return what it wrote. */
async function stay(code: string, is_function = false): Promise<string[]> {
  const names = ["setTimeout", "setInterval", "setImmediate", "fetch", "Worker"];
  const originals = names.map((name) => globals[name]);
  try {
    await thrownBy(() =>
      reside({ ...terms, code, is_function }).then(() => Promise.reject(new Error("it was not loaded")))
    );
  } finally {
    names.forEach((name, at) => globals[name] = originals[at]);
    delete globals.tools;
  }
  return pipe.take().map((line) => line.replace(/"cpu_us":\d+/, '"cpu_us":7')); // which differs each time
}

/** Let the code stay for these batches, and then the host be gone; return what it wrote after it was loaded. */
async function resided(code: string, ...batches: { state?: unknown; signals: unknown[] }[]) {
  batches.forEach((batch, at) => pipe.send(signalsLine(at + 1, batch.signals, batch.state)));
  pipe.send(WAKE); // as the host does when calls were forgotten: a read may be under way that nothing else would end
  const [first, ...rest] = await stay(code);
  assertEquals(first, LOADED);
  return rest;
}

const signalsLine = (batch: number, signals: unknown[], state: unknown = {}) =>
  JSON.stringify({ type: "__signals__", batch, state, signals }) + "\n";
const answer = (batch: number, at: number, emitted: unknown[] = [], state: unknown = null) =>
  JSON.stringify({ type: "__answer__", batch, at, cpu_us: 7, emitted, state });

Deno.test("a function answers each call with what it returned", async () => {
  pipe.send(signalsLine(1, [{ args: { a: 1 } }, { args: { a: 0 } }]));
  pipe.send(WAKE);
  const [, first, second] = await stay(
    "if (args.a === 0) throw new Error('nothing'); return args.a + 1",
    true,
  );
  assertEquals(first, answer(1, 0, [["result", 2]]));
  assertEquals(JSON.parse(second).message, "nothing");
});

Deno.test("signals are answered in their order, each with the state that the one before it has left", async () => {
  const code = "state.sum = (state.sum ?? 0) + signal.data; emit('sum', state.sum)";
  const lines = await resided(code, { signals: [{ data: 1 }, { data: 2 }] }, {
    state: { sum: 10 },
    signals: [{ data: 5 }],
  });
  assertEquals(lines, [
    answer(1, 0, [["sum", 1]], { sum: 1 }),
    answer(1, 1, [["sum", 3]], { sum: 3 }),
    answer(2, 0, [["sum", 15]], { sum: 15 }),
  ]);
});

Deno.test("the guest writes the golden answers", async () => {
  const goldenAnswers = guest.filter(({ frame }) => frame.type === "__answer__").map(({ line }) => line);
  const [none, all] = goldenAnswers;
  assertEquals(await resided("", { signals: [{}] }), [none]);
  const code = `if (signal.last) {
    emit("price_change", { usd: [1.5, NaN] });
    emit("seen.twice");
    state.last = "é 😀";
  }`;
  const signals = [...Array(63).fill({}), { last: true }];
  const batches = [...Array(11).fill({ signals: [] }), { signals }];
  assertEquals((await resided(code, ...batches)).at(-1), all);
});

Deno.test("a signal that fails emits nothing, leaves the state alone, and says why", async () => {
  const code =
    `state.n++; emit("n", state.n); state.deep.push(1); if (signal.bad) throw new RangeError("bad");`;
  const lines = await resided(code, { state: { n: 1, deep: [] }, signals: [{ bad: true }, {}] });
  const { stack, ...failed } = JSON.parse(lines[0]);
  assertEquals(failed, {
    type: "__failed__",
    batch: 1,
    at: 0,
    cpu_us: 7,
    phase: "run",
    name: "RangeError",
    message: "bad",
  });
  assertEquals(stack.startsWith("RangeError: bad"), true);
  assertEquals(lines[1], answer(1, 1, [["n", 2]], { n: 2, deep: [1] }));
});

Deno.test("the guest writes the golden failure field by field", async () => {
  const golden = guest.find(({ frame }) => frame.type === "__failed__")!;
  const [line] = await resided("throw new TypeError('a is not a function')", { signals: [{}] });
  assertEquals(Object.keys(JSON.parse(line)), Object.keys(golden.frame));
});

for (
  const [why, code, message] of [
    [
      "a state that is too long",
      "state.a = 'é'.repeat(50)",
      "Cannot keep state: it has 117 bytes, more than 100",
    ],
    ["a state that is no JSON", "state.a = { b: () => 1 }", "Cannot keep state.a.b: a function"],
    ["a state that contains itself", "state.a = state", "Cannot keep state.a: it contains itself"],
    [
      "a state that turns into a list",
      "state.toJSON = () => []",
      "Cannot keep state: it is no longer an object",
    ],
    ["an answer that is too long", "for (const n of 'ab') emit(n, 'x'.repeat(300))", "Cannot answer with "],
    ["a promise that nobody waits for", "Promise.reject(new Error('lost'))", "lost"],
  ]
) {
  Deno.test(`${why} fails the signal, and not the next one`, async () => {
    const lines = await resided(`if (signal.bad) { ${code} }`, {
      state: { kept: 1 },
      signals: [{ bad: 1 }, {}],
    });
    assertEquals(lines.length, 2);
    assertEquals(JSON.parse(lines[0]).message.startsWith(message), true);
    assertEquals(lines[1], answer(1, 1));
  });
}

Deno.test("an error that nobody catches fails the signal that is being answered, and later ones nothing", async () => {
  globals.failSignal = failSignal;
  const lines = await resided("failSignal(() => new Error('first')); failSignal(() => 'second')", {
    signals: [{}],
  });
  delete globals.failSignal;
  assertEquals(JSON.parse(lines[0]).message, "first");
  assertEquals(failSignal(() => new Error("late")), false);
});

Deno.test("what a signal has left running neither emits nor prints nor calls nor changes the state", async () => {
  const code = `const late = () => { state.n = 1; emit("late"); console.log("late"); void tools.add({}) };
    setTimeout(late); setInterval(late); setImmediate(late); void Promise.resolve().then(async () => { await tools.add({}); late() })`;
  const lines = await resided(code, { signals: [{}, {}, {}] });
  const calls = lines.filter((line) => line.includes("__tool_call__"));
  assertEquals(lines.filter((line) => !calls.includes(line)), [answer(1, 0), answer(1, 1), answer(1, 2)]);
  assertEquals(calls.length, 3);
});

Deno.test("an answer to a call of an earlier signal is dropped", async () => {
  const code = `if (signal.last) emit("got", await tools.add({ b: 1 })); else void tools.add({ a: 1 })`;
  const [call] = await resided(code, { signals: [{}] });
  const id = Number(JSON.parse(call).call_id); // they go on from test to test
  const result = (call: number, value: string) =>
    JSON.stringify({ type: "__tool_result__", call_id: String(call), result: value }) + "\n";
  pipe.send(
    result(id, "stale") + signalsLine(1, [{ last: true }]),
    result(id, "stale") + result(id + 1, "fresh"),
  );
  assertEquals((await stay(code)).at(-1), answer(1, 0, [["got", "fresh"]]));
});

Deno.test("each signal is an object of its own, and so is the state", async () => {
  const code =
    `globalThis.kept ??= { signal, state }; kept.signal.data.a = 1; kept.state.a = 1; emit("saw", [signal, state])`;
  const lines = await resided(code, { signals: [{ data: {} }, { data: {} }] });
  delete globals.kept;
  assertEquals(JSON.parse(lines[1]).emitted, [["saw", [{ data: {} }, { a: 1 }]]]);
});

Deno.test("code that is no code is said once, and not run", async () => {
  const [line, ...more] = await stay("let a = ;");
  assertEquals([JSON.parse(line).type, JSON.parse(line).phase, more], ["__error__", "compile", []]);
});

Deno.test("there is no Worker, which would go on when its signal has ended, and no context of a run", async () => {
  globals.context = { a: [1] };
  const code = "emit('types', [typeof Worker, typeof context, typeof tools.add, typeof fetch])";
  const [line] = await resided(code, { signals: [{}] });
  assertEquals(JSON.parse(line).emitted, [["types", ["undefined", "undefined", "function", "function"]]]);
});
