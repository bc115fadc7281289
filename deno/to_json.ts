import { requireBytes, visibleBytes } from "./visible_bytes.ts";

/** Why a value has no JSON form, and where it was: "Cannot return result.items[3]: a function". */
export class NotJson extends TypeError {
  override name = "TypeError";
}

const MAX_DEPTH = 100;
/** What one answer may hold. */
const MAX_VALUES = 1_000_000;
/** What the arguments of one call may hold: the host reads no more than so many in a frame. */
export const MAX_VALUES_IN_CALL = 100_000;
const MAX_BIGINT_DIGITS = 1000;

// Kept from before the agent's code ran, so that patching a built-in changes only what the agent sees.
const stringify = JSON.stringify;
const rawJson = (JSON as unknown as { rawJSON(text: string): object }).rawJSON;
const isArray = Array.isArray;
const keysOf = Object.keys;
const prototypeOf = Object.getPrototypeOf;
const objectPrototype = Object.prototype;
const iterateMap = Map.prototype.entries;
const iterateSet = Set.prototype.values;
const toBase64 = Uint8Array.prototype.toBase64;

/** Where the walk is. When a getter of the agent's throws, this tells which one it was. */
interface Walk {
  path: (string | number)[];
  ancestors: object[];
  values: number;
  maxValues: number;
  bytesAs: "numbers" | "base64";
}

/** What is wrong with the value at the current place of the walk. */
class Refusal {
  constructor(readonly what: string) {}
}

/**
 * The value as JSON text. `undefined` is null, NaN and Infinity are null, a BigInt is an integer, a Date its ISO
 * text, a Set and a typed array are arrays, an ArrayBuffer is an array of its bytes, a Map with text keys is an object and any other an array of pairs, an
 * Error is its name and message, a RegExp its source. What has no obvious form throws NotJson, which says where.
 * Bytes can be base64 instead: a tool that takes bytes takes them so.
 */
export function toJson(
  value: unknown,
  verb: string,
  root: string,
  maxValues = MAX_VALUES,
  bytesAs: Walk["bytesAs"] = "numbers",
): string {
  const walk: Walk = { path: [], ancestors: [], values: 0, maxValues, bytesAs };
  try {
    return stringify(plain(value, walk));
  } catch (thrown) {
    const path = walk.path.map((key) => typeof key === "number" ? `[${key}]` : `.${key}`).join("");
    const what = thrown instanceof Refusal ? thrown.what : `reading it threw ${textOf(thrown)}`;
    throw new NotJson(`Cannot ${verb} ${root}${path}: ${what}`);
  }
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return "an error that cannot be shown";
  }
}

function plain(value: unknown, walk: Walk): unknown {
  if (++walk.values > walk.maxValues) throw new Refusal(`more than ${walk.maxValues} values`);
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "bigint":
      return integer(value);
    case "function":
      throw new Refusal("a function");
    case "symbol":
      throw new Refusal("a symbol");
    case "object":
      return value === null ? null : plainObject(value, walk);
    default:
      return value;
  }
}

function plainObject(value: object, walk: Walk): unknown {
  if (walk.ancestors.includes(value)) throw new Refusal("it contains itself");
  if (walk.ancestors.length >= MAX_DEPTH) throw new Refusal(`nested deeper than ${MAX_DEPTH} levels`);
  walk.ancestors.push(value);
  const copy = copyObject(value, walk);
  walk.ancestors.pop();
  return copy;
}

function copyObject(value: object, walk: Walk): unknown {
  if (isArray(value)) return elements(value, walk);
  const own = (value as { toJSON?: unknown }).toJSON;
  if (typeof own === "function") return plain(Reflect.apply(own, value, [""]), walk);
  return prototypeOf(value) === objectPrototype ? properties(value, walk) : instance(value, walk);
}

function instance(value: object, walk: Walk): unknown {
  if (value instanceof Map) return mapping(value, walk);
  if (value instanceof Set) return elements([...Reflect.apply(iterateSet, value, [])], walk);
  if (value instanceof Error) {
    return { name: String(value.name).toWellFormed(), message: String(value.message).toWellFormed() };
  }
  if (value instanceof RegExp) return String(value).toWellFormed();
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return plain(value.valueOf(), walk);
  }
  const bytes = value instanceof DataView ? undefined : visibleBytes(value);
  if (bytes !== undefined) {
    return walk.bytesAs === "base64" ? Reflect.apply(toBase64, bytes, []) : elements(bytes, walk);
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    requireBytes(value);
    return elements(value as unknown as ArrayLike<unknown>, walk);
  }
  if (value instanceof Promise) throw new Refusal("a Promise; await it first");
  if (isOpaque(value)) throw new Refusal(`an object of type ${value.constructor.name}`);
  return properties(value, walk);
}

function isOpaque(value: object): boolean {
  return value instanceof SharedArrayBuffer || value instanceof DataView || value instanceof WeakMap ||
    value instanceof WeakSet ||
    value instanceof WeakRef || value instanceof Blob;
}

function elements(value: ArrayLike<unknown>, walk: Walk): unknown[] {
  if (value.length > walk.maxValues) throw new Refusal(`more than ${walk.maxValues} values`);
  const copy: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    walk.path.push(index);
    copy[index] = plain(value[index], walk);
    walk.path.pop();
  }
  return copy;
}

function properties(value: object, walk: Walk): unknown {
  const copy = Object.create(null);
  for (const key of keysOf(value)) {
    walk.path.push(key);
    const property = (value as Record<string, unknown>)[key];
    // As in JSON.stringify: a property that is undefined is left out.
    if (property !== undefined) copy[key.toWellFormed()] = plain(property, walk);
    walk.path.pop();
  }
  return copy;
}

function mapping(value: Map<unknown, unknown>, walk: Walk): unknown {
  const entries = [...Reflect.apply(iterateMap, value, [])] as [unknown, unknown][];
  if (!entries.every(([key]) => typeof key === "string")) return elements(entries, walk);
  const copy = Object.create(null);
  for (const [key, item] of entries as [string, unknown][]) {
    walk.path.push(key);
    copy[key.toWellFormed()] = plain(item, walk);
    walk.path.pop();
  }
  return copy;
}

function integer(value: bigint): unknown {
  const digits = value.toString();
  if (digits.length > MAX_BIGINT_DIGITS) {
    throw new Refusal(`a BigInt of more than ${MAX_BIGINT_DIGITS} digits`);
  }
  return rawJson(digits);
}
