import { writeFrame } from "./write_frame.ts";

/** A property to be put in place of another. */
interface Replacement {
  target: object;
  name: string;
  descriptor: PropertyDescriptor;
}

// Any instant will do, as long as it is the same for all.
const EPOCH_MS = 946_684_800_000;

const { apply, construct, defineProperty, getOwnPropertyDescriptor } = Reflect;
const OriginalDate = Date;
const toText = Date.prototype.toString;

let replacements: Replacement[] = [];
/** Those of clocks and chance, without those that only tell the host. */
let clocks: Replacement[] = [];
let hasVaried = false;
let looks = 0;
// The four words of sfc32: small, quick, and of a longer period than any code draws from.
let [wordA, wordB, wordC, wordD] = [0, 0, 0, 0];
let epoch = EPOCH_MS;
// For how many looks the clock stands still. Two wordings of one program may look at it differently often.
let stillFor = 0;
let seeded: PropertyDescriptor;

/** Make ready what `makeRepeatable` puts in place, before anybody waits for it. */
export function prepareToRepeat(): void {
  const watched = ["timeEnd", "timeLog", "timeStamp", "trace"].flatMap(printer);
  // Once for nothing: the first time costs more than all that follow.
  putInPlace(watched.map((printer) => ({ ...printer, target: {} })));
  const random = { target: Math, name: "random", descriptor: hidden(() => chance("Math.random")) };
  seeded = hidden(draw);
  seed(1);
  clocks = [...dates(), random];
  replacements = [...clocks, ...functionMakers(), ...watched];
}

/**
 * From here on clocks show a time of their own, chance is drawn from a fixed seed, and the host is told when the code
 * asks for either. For a process that ends with the run.
 *
 * `"plain"` code has, by the host's look at its words, nothing that leads beyond dates, `Math` and `console`. Of other
 * code the host knows that it may vary; it finds the same clock and seed in `performance` and `crypto`.
 */
export function makeRepeatable(how: "plain" | "wholly", clockMs = EPOCH_MS, from = 1): void {
  putInPlace(replacements);
  epoch = clockMs;
  seed(from);
  if (how === "plain") return;
  fixPerformance();
  fixCrypto();
}

/** From here on `Math.random` is drawn from this seed, which the host has on record. Clocks and `crypto` are real. */
export function seedRandom(from: number): void {
  seed(from);
  defineProperty(Math, "random", seeded);
}

/**
 * The same for a process that stays, without a word to the host: each signal finds the clock at its own time, and
 * chance at its beginning. Returns what to call before each signal.
 */
export function makeSignalsRepeatable(): (atMs: number) => void {
  hasVaried = true;
  stillFor = 1_000;
  putInPlace(clocks);
  fixPerformance();
  fixCrypto();
  return (atMs) => {
    looks = 0;
    seed(1);
    epoch = atMs >= 0 ? Math.floor(atMs) : EPOCH_MS;
  };
}

function putInPlace(all: Replacement[]): void {
  for (const { target, name, descriptor } of all) defineProperty(target, name, descriptor);
}

function vary(what: string): void {
  if (hasVaried) return;
  hasVaried = true;
  writeFrame({ type: "__varied__", what });
}

// It goes on with every look: code that waits for a moment to pass must not wait for ever.
function now(what: string): number {
  vary(what);
  return epoch + Math.max(0, looks++ - stillFor);
}

function chance(what: string): number {
  vary(what);
  return draw();
}

function seed(from: number): void {
  [wordA, wordB, wordC, wordD] = [from | 0, from ^ 0x9e3779b9, 0x243f6a88, 1];
  for (let round = 0; round < 12; round++) word();
}

function word(): number {
  const sum = (wordA + wordB | 0) + wordD | 0;
  wordD = wordD + 1 | 0;
  wordA = wordB ^ wordB >>> 9;
  wordB = wordC + (wordC << 3) | 0;
  wordC = (wordC << 21 | wordC >>> 11) + sum | 0;
  return sum >>> 0;
}

/** A number from 0 to 1 of 53 bits, as `Math.random` gives. */
function draw(): number {
  return ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
}

/** A date of something is that; only one of nothing is the time of day. */
function dates(): Replacement[] {
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

/** Code that is made out of text has words that the host has not looked at. */
function functionMakers(): Replacement[] {
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

/** What prints how long something took, or where the code stands. */
function printer(name: string): Replacement[] {
  const target = console;
  const original = getOwnPropertyDescriptor(target, name)?.value;
  if (typeof original !== "function") return [];
  const value = (...values: unknown[]) => (vary(`console.${name}`), apply(original, target, values));
  return [{ target, name, descriptor: { ...hidden(value), enumerable: true } }];
}

function fixPerformance(): void {
  defineProperty(performance, "now", hidden(() => now("performance") - epoch));
  defineProperty(performance, "timeOrigin", hidden(EPOCH_MS));
}

function fixCrypto(): void {
  const fill = <View extends ArrayBufferView>(view: View): View => {
    const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
    bytes.forEach((_, at) => bytes[at] = Math.floor(chance("crypto") * 256));
    return view;
  };
  defineProperty(crypto, "getRandomValues", hidden(fill));
  defineProperty(crypto, "randomUUID", hidden(() => uuid(fill(new Uint8Array(16)).toHex())));
}

function uuid(hex: string): string {
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`];
  return [...parts, hex.slice(20)].join("-");
}

function hidden(value: unknown): PropertyDescriptor {
  return { value, configurable: true, writable: true, enumerable: false };
}
