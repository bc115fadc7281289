import { assertEquals, thrownBy } from "./testing.ts";
import { NotJson, toJson } from "./to_json.ts";

const json = (value: unknown) => toJson(value, "return", "result");

async function refusal(value: unknown): Promise<string> {
  const error = await thrownBy(() => json(value));
  assertEquals(error instanceof NotJson, true);
  return error.message;
}

function nested(levels: number): unknown {
  let value: unknown = 0;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

function nasty(): never {
  throw new Error("gotcha");
}

class Point {
  x = 1;
  #y = 2;
  get y() {
    return this.#y;
  }
}

const conversions: [string, unknown, string][] = [
  ["undefined is null", undefined, "null"],
  ["null is null", null, "null"],
  ["texts and booleans are themselves", ['a"\n\\é漢😀', true, false], '["a\\"\\n\\\\é漢😀",true,false]'],
  ["numbers are themselves, without minus zero", [1, -2.5, 1e21, -0], "[1,-2.5,1e+21,0]"],
  ["NaN and Infinity are null", [NaN, Infinity, -Infinity], "[null,null,null]"],
  [
    "an undefined element is null and an undefined property is left out",
    { a: undefined, b: [undefined] },
    '{"b":[null]}',
  ],
  [
    "a BigInt is an exact integer",
    [5n, -(2n ** 64n), 2n ** 53n + 1n],
    "[5,-18446744073709551616,9007199254740993]",
  ],
  ["a BigInt of a thousand digits is one", 10n ** 999n, "1" + "0".repeat(999)],
  ["a Date is its ISO text", new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ["an invalid Date is null", new Date(NaN), "null"],
  ["a Map with text keys is an object", new Map([["a", 1], ["__proto__", 2]]), '{"a":1,"__proto__":2}'],
  ["an empty Map is an empty object", new Map(), "{}"],
  [
    "any other Map is an array of pairs",
    new Map<unknown, unknown>([["a", 1], [2, { b: 3n }]]),
    '[["a",1],[2,{"b":3}]]',
  ],
  ["a Set is an array", new Set([1, "a", undefined, new Set()]), '[1,"a",null,[]]'],
  [
    "typed arrays are arrays",
    [new Uint8Array([1, 255]), new Float64Array([0.5, NaN])],
    "[[1,255],[0.5,null]]",
  ],
  ["an ArrayBuffer is an array of its bytes", new Uint8Array([1, 2]).buffer, "[1,2]"],
  [
    "of a view only the visible part is there",
    new Uint8Array([1, 2, 3, 4]).subarray(1, 3),
    "[2,3]",
  ],
  [
    "a typed array of BigInts is an array of integers",
    new BigUint64Array([2n ** 64n - 1n]),
    "[18446744073709551615]",
  ],
  [
    "an Error is its name and message",
    new RangeError("too far"),
    '{"name":"RangeError","message":"too far"}',
  ],
  ["a RegExp is its source", /a"\d/gi, '"/a\\"\\\\d/gi"'],
  ["boxed primitives are what is in the box", [Object(1), Object("s"), Object(false)], '[1,"s",false]'],
  ["a URL is its text", new URL("https://a.example/b?c"), '"https://a.example/b?c"'],
  ["a class instance is its own public fields", new Point(), '{"x":1}'],
  ["an object without prototype is an object", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  ["symbol keys and hidden properties are left out", { [Symbol("s")]: 1, a: 2 }, '{"a":2}'],
  ["holes are null", [1, , 3], "[1,null,3]"],
  [
    "an own key called __proto__ is data",
    JSON.parse('{"__proto__":{"x":1},"constructor":2}'),
    '{"__proto__":{"x":1},"constructor":2}',
  ],
  ["a Proxy is what it shows", [new Proxy({ a: 1 }, {}), new Proxy([1], {})], '[{"a":1},[1]]'],
  [
    "toJSON is honoured, and what it gives is converted",
    { toJSON: () => ({ a: 1n, b: new Set([2]) }) },
    '{"a":1,"b":[2]}',
  ],
  ["the same object twice is no cycle", Array(2).fill({ a: 1 }), '[{"a":1},{"a":1}]'],
  ["a hundred levels are allowed", nested(100), "[".repeat(100) + "0" + "]".repeat(100)],
  ["half a character is the replacement character, wherever it is", [
    "\ud800",
    { "\udc00": 1 },
    new Map([["\ud800", 1]]),
    new Error("\ud800"),
    new RegExp("\ud800"),
    new Set(["a\ud800b"]),
  ], '["\ufffd",{"\ufffd":1},{"\ufffd":1},{"name":"Error","message":"\ufffd"},"/\ufffd/",["a\ufffdb"]]'],
];

for (const [name, value, expected] of conversions) {
  Deno.test(name, () => assertEquals(json(value), expected));
}

const cycle: unknown[] = [];
cycle.push({ again: cycle });
const cyclicMap = new Map<string, unknown>();
cyclicMap.set("self", cyclicMap);
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const endless = (): unknown => ({ toJSON: endless });

const gone = new Float64Array(2);
structuredClone(gone.buffer, { transfer: [gone.buffer] });

const refusals: [string, unknown, string][] = [
  ["a function is refused, with its place", { items: [1, () => 1] }, ".items[1]: a function"],
  ["a class is refused", Point, ": a function"],
  ["a symbol is refused", { a: Symbol("s") }, ".a: a symbol"],
  ["a cycle is refused", cycle, "[0].again: it contains itself"],
  ["a cycle through a Map is refused", cyclicMap, ".self: it contains itself"],
  ["a BigInt too long is refused", [10n ** 1000n], "[0]: a BigInt of more than 1000 digits"],
  ["a Promise is refused with advice", { a: Promise.resolve(1) }, ".a: a Promise; await it first"],
  ["a DataView is refused", new DataView(new ArrayBuffer(1)), ": an object of type DataView"],
  [
    "an array whose bytes are gone is refused",
    { a: gone },
    ".a: reading it threw TypeError: its bytes are gone: the buffer was transferred or made smaller",
  ],
  ["a WeakMap is refused", [new WeakMap()], "[0]: an object of type WeakMap"],
  ["a Blob is refused", new Blob([]), ": an object of type Blob"],
  ["a huge array is refused before it is walked", new Array(2 ** 32 - 1), ": more than 1000000 values"],
  [
    "a Proxy that says it is endless is refused",
    new Proxy([], {
      get: (_, key) => key === "length" ? Infinity : 1,
    }),
    ": more than 1000000 values",
  ],
  [
    "more than a hundred levels are refused",
    nested(101),
    "[0]".repeat(100) + ": nested deeper than 100 levels",
  ],
  [
    "a getter that throws is named",
    { a: Object.defineProperty({}, "b", { get: nasty, enumerable: true }) },
    ".a.b: reading it threw Error: gotcha",
  ],
  ["an error that cannot be shown is survived", {
    get a() {
      throw { toString: nasty };
    },
  }, ".a: reading it threw an error that cannot be shown"],
  [
    "a Proxy that throws is named",
    [new Proxy({}, { ownKeys: nasty })],
    "[0]: reading it threw Error: gotcha",
  ],
  [
    "a Proxy that hides its prototype is named",
    [new Proxy({}, { getPrototypeOf: nasty })],
    "[0]: reading it threw Error: gotcha",
  ],
  [
    "a revoked Proxy is refused",
    revoked,
    ": reading it threw TypeError: Cannot perform 'IsArray' on a proxy that has been revoked",
  ],
  ["a toJSON that throws is named", { a: { toJSON: nasty } }, ".a: reading it threw Error: gotcha"],
  ["a toJSON that gives itself is refused", {
    toJSON() {
      return this;
    },
  }, ": it contains itself"],
  ["a toJSON without end is refused", endless(), ": nested deeper than 100 levels"],
  ["a toJSON that gives a function is refused", { toJSON: () => nasty }, ": a function"],
  [
    "an Error whose name throws is named",
    Object.defineProperty(new Error(), "name", { get: nasty }),
    ": reading it threw Error: gotcha",
  ],
];

for (const [name, value, expected] of refusals) {
  Deno.test(name, async () => assertEquals(await refusal(value), `Cannot return result${expected}`));
}

Deno.test("a million values are counted over the whole result", async () => {
  const half = new Array(600_000).fill(0);
  assertEquals(JSON.parse(json(half)).length, 600_000);
  assertEquals((await refusal([half, half])).endsWith(": more than 1000000 values"), true);
});

Deno.test("a wide result is no deep one", () => {
  const wide = Array.from({ length: 1000 }, () => nested(50));
  assertEquals(JSON.parse(json(wide)), wide);
});

Deno.test("patching JSON, Array and Map does not change what is written", () => {
  const kept = [JSON.stringify, Object.keys, Array.isArray, Map.prototype.entries] as const;
  JSON.stringify = () => "forged";
  Object.keys = () => ["forged"];
  Array.isArray = (() => false) as unknown as typeof Array.isArray;
  Map.prototype.entries = nasty;
  let text: string;
  try {
    text = json({ a: [1], b: new Map([["c", 2]]) });
  } finally {
    [JSON.stringify, Object.keys, Array.isArray, Map.prototype.entries] = kept;
  }
  assertEquals(text, '{"a":[1],"b":{"c":2}}');
});

Deno.test("in arguments bytes are base64, and only those that are visible", () => {
  const value = {
    a: new Uint8Array([9, 1, 2, 9]).subarray(1, 3),
    b: new Uint8Array([1]).buffer,
    c: new Float64Array([1]),
  };
  assertEquals(toJson(value, "call x with", "arguments", 10, "base64"), '{"a":"AQI=","b":"AQ==","c":[1]}');
});
