import { writeFrame } from "./write_frame.ts";

/** A property to be put in place of another. */
interface Replacement {
  target: object;
  name: string;
  descriptor: PropertyDescriptor;
}

type Changes = (value: any) => void;

// Any instant will do, as long as it is the same for all.
const EPOCH_MS = 946_684_800_000;

// Whoever has one of these can tell one run from another: by time, by chance, by what happens first, or by the process.
const TELLTALES = [
  ...["Temporal", "Intl", "setTimeout", "setInterval", "setImmediate", "AbortSignal", "AbortController"],
  ...[
    "Event",
    "CustomEvent",
    "EventTarget",
    "File",
    "Atomics",
    "SharedArrayBuffer",
    "WebAssembly",
    "WeakRef",
  ],
  ...["FinalizationRegistry", "Deno", "process", "Buffer", "navigator", "Worker", "MessageChannel", "eval"],
  ...[
    "BroadcastChannel",
    "CompressionStream",
    "DecompressionStream",
    "addEventListener",
    "Request",
    "Response",
  ],
];

const { apply, construct, defineProperty, getOwnPropertyDescriptor } = Reflect;
const OriginalDate = Date;
const toText = Date.prototype.toString;

let hasVaried = false;
let looks = 0;
let seed = 1;

// Prepared before anybody waits. To put them in place takes a few microseconds.
const replacements: Replacement[] = [
  ...replacementsOfDate(),
  { target: Math, name: "random", descriptor: hidden(() => chance("Math.random")) },
  ...TELLTALES.flatMap((name) => telltale(name)),
  ...telltale("performance", fixPerformance),
  ...telltale("crypto", fixCrypto),
  ...replacementsOfMakers(),
];

/**
 * From here on clocks show a time of their own, chance is drawn from a fixed seed, and the host is told when the code
 * asks for either, or could. For a process that ends with the run.
 */
export function makeRepeatable(code: string): void {
  for (const { target, name, descriptor } of replacements) defineProperty(target, name, descriptor);
  for (const name of ["timeEnd", "timeLog", "timeStamp", "trace"]) watch(console, name, `console.${name}`);
  // A module may be one of Node's, and nothing stands between it and the code.
  if (/\bimport\b/.test(code)) vary("import");
}

function vary(what: string): void {
  if (hasVaried) return;
  hasVaried = true;
  writeFrame({ type: "__varied__", what });
}

// It goes on with every look: code that waits for a moment to pass must not wait for ever.
function now(what: string): number {
  vary(what);
  return EPOCH_MS + looks++;
}

function chance(what: string): number {
  vary(what);
  seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
  return seed / 2 ** 32;
}

/** A date of something is that; only one of nothing is the time of day. */
function replacementsOfDate(): Replacement[] {
  const value = new Proxy(Date, {
    construct: (target, values, newTarget) =>
      construct(target, values.length === 0 ? [now("new Date()")] : values, newTarget),
    apply: () => apply(toText, new OriginalDate(now("Date()")), []),
  });
  return [
    { target: globalThis, name: "Date", descriptor: hidden(value) },
    { target: Date.prototype, name: "constructor", descriptor: hidden(value) },
    { target: Date, name: "now", descriptor: hidden(() => now("Date.now")) },
  ];
}

/** Code that is made out of text could hold an `import`. */
function replacementsOfMakers(): Replacement[] {
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  return kinds.flatMap((kind) => {
    const prototype = Object.getPrototypeOf(kind);
    const value = new Proxy(prototype.constructor, {
      construct: (target, values, newTarget) => (vary("Function"), construct(target, values, newTarget)),
      apply: (target, self, values) => (vary("Function"), apply(target, self, values)),
    });
    const made = { target: prototype, name: "constructor", descriptor: hidden(value) };
    return value.name === "Function" ? [made, { ...made, target: globalThis, name: "Function" }] : [made];
  });
}

/** A global that tells when it is looked at, and is changed at that moment if need be. */
function telltale(name: string, change: Changes = () => {}): Replacement[] {
  const original = getOwnPropertyDescriptor(globalThis, name);
  if (original?.configurable !== true) return [];
  const isFirst = { value: true };
  const get = () => {
    vary(name);
    const value = original.get === undefined ? original.value : apply(original.get, globalThis, []);
    if (isFirst.value) change(value);
    isFirst.value = false;
    return value;
  };
  const set = original.set ?? ((value: unknown) => void defineProperty(globalThis, name, hidden(value)));
  const descriptor = { get, set, configurable: true, enumerable: original.enumerable };
  return [{ target: globalThis, name, descriptor }];
}

function fixPerformance(performance: object): void {
  defineProperty(performance, "now", hidden(() => now("performance") - EPOCH_MS));
  defineProperty(performance, "timeOrigin", hidden(EPOCH_MS));
}

function fixCrypto(crypto: object): void {
  const bytes = (array: ArrayBufferView) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  const fill = <View extends ArrayBufferView>(array: View): View => {
    bytes(array).forEach((_, at, all) => all[at] = Math.floor(chance("crypto") * 256));
    return array;
  };
  defineProperty(crypto, "getRandomValues", hidden(fill));
  defineProperty(crypto, "randomUUID", hidden(() => uuid(fill(new Uint8Array(16)).toHex())));
}

function uuid(hex: string): string {
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20),
  ];
  return parts.join("-");
}

function watch(target: object, name: string, what: string): void {
  const original = getOwnPropertyDescriptor(target, name)?.value;
  const value = (...values: unknown[]) => (vary(what), apply(original, target, values));
  if (typeof original === "function") defineProperty(target, name, { ...hidden(value), enumerable: true });
}

function hidden(value: unknown): PropertyDescriptor {
  return { value, configurable: true, writable: true, enumerable: false };
}
