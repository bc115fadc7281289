/** Why a value has no JSON form, and where it was: "Cannot return result.items[3]: a function". */
export class NotJson extends TypeError {
  override name = "TypeError";
}

const MAX_DEPTH = 100;
const MAX_VALUES = 1_000_000;
const MAX_BIGINT_DIGITS = 1000;

// Kept from before the agent's code ran, so that patching a built-in changes only what the agent sees.
const stringify = JSON.stringify;
const rawJson = (JSON as unknown as { rawJSON(text: string): object }).rawJSON;
const isArray = Array.isArray;
const keysOf = Object.keys;
const iterateMap = Map.prototype.entries;
const iterateSet = Set.prototype.values;

interface Walk {
  verb: string;
  path: (string | number)[];
  ancestors: Set<object>;
  values: number;
}

/**
 * The value as JSON text. `undefined` is null, NaN and Infinity are null, a BigInt is an integer, a Date its ISO
 * text, a Set and a typed array are arrays, a Map with text keys is an object and any other an array of pairs, an
 * Error is its name and message, a RegExp its source. What has no obvious form throws NotJson, which says where.
 */
export function toJson(value: unknown, verb: string, root: string): string {
  const walk: Walk = { verb, path: [root], ancestors: new Set(), values: 0 };
  return stringify(plain(value, walk));
}

function plain(value: unknown, walk: Walk): unknown {
  if (++walk.values > MAX_VALUES) throw refusal(walk, `more than ${MAX_VALUES} values`);
  switch (typeof value) {
    case "undefined":
      return null;
    case "string":
      return value.isWellFormed() ? value : value.toWellFormed();
    case "bigint":
      return integer(value, walk);
    case "function":
      throw refusal(walk, "a function");
    case "symbol":
      throw refusal(walk, "a symbol");
    case "object":
      return value === null ? null : plainObject(value, walk);
    default:
      return value;
  }
}

function plainObject(value: object, walk: Walk): unknown {
  if (walk.ancestors.has(value)) throw refusal(walk, "it contains itself");
  if (walk.ancestors.size >= MAX_DEPTH) throw refusal(walk, `nested deeper than ${MAX_DEPTH} levels`);
  walk.ancestors.add(value);
  const copy = copyObject(value, walk);
  walk.ancestors.delete(value);
  return copy;
}

function copyObject(value: object, walk: Walk): unknown {
  if (isArray(value)) return elements(value, walk);
  const own = attempt(walk, () => (value as { toJSON?: unknown }).toJSON);
  if (typeof own === "function") {
    return plain(attempt(walk, () => Reflect.apply(own, value, [walk.path.at(-1)])), walk);
  }
  if (value instanceof Map) return mapping(value, walk);
  if (value instanceof Set) return elements([...Reflect.apply(iterateSet, value, [])], walk);
  if (value instanceof Error) return { name: String(value.name), message: String(value.message) };
  if (value instanceof RegExp) return String(value);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return plain(value.valueOf(), walk);
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return elements(value as unknown as ArrayLike<unknown>, walk);
  }
  if (value instanceof Promise) throw refusal(walk, "a Promise; await it first");
  if (isOpaque(value)) throw refusal(walk, `a ${value.constructor.name}`);
  return properties(value, walk);
}

function isOpaque(value: object): boolean {
  return value instanceof ArrayBuffer || value instanceof SharedArrayBuffer ||
    value instanceof DataView || value instanceof WeakMap || value instanceof WeakSet ||
    value instanceof WeakRef || value instanceof Blob;
}

function elements(value: ArrayLike<unknown>, walk: Walk): unknown[] {
  if (value.length > MAX_VALUES) throw refusal(walk, `more than ${MAX_VALUES} values`);
  const copy: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    copy[index] = step(index, () => value[index], walk);
  }
  return copy;
}

function properties(value: object, walk: Walk): unknown {
  const copy = Object.create(null);
  for (const key of attempt(walk, () => keysOf(value))) {
    const property = step(key, () => (value as Record<string, unknown>)[key], walk, true);
    if (property !== undefined) copy[key.toWellFormed()] = property;
  }
  return copy;
}

function mapping(value: Map<unknown, unknown>, walk: Walk): unknown {
  const entries = [...Reflect.apply(iterateMap, value, [])] as [unknown, unknown][];
  if (!entries.every(([key]) => typeof key === "string")) return elements(entries, walk);
  const copy = Object.create(null);
  for (const [key, item] of entries as [string, unknown][]) {
    copy[key.toWellFormed()] = step(key, () => item, walk);
  }
  return copy;
}

/** Go one level down. With `skip`, an undefined property stays undefined, to be left out as JSON does. */
function step(key: string | number, get: () => unknown, walk: Walk, skip = false): unknown {
  walk.path.push(key);
  const item = attempt(walk, get);
  const copy = skip && item === undefined ? undefined : plain(item, walk);
  walk.path.pop();
  return copy;
}

function integer(value: bigint, walk: Walk): unknown {
  const digits = value.toString();
  if (digits.length > MAX_BIGINT_DIGITS) {
    throw refusal(walk, `a BigInt of more than ${MAX_BIGINT_DIGITS} digits`);
  }
  return rawJson(digits);
}

/** Run a getter or toJSON of the agent's; what it throws becomes a sentence that says where. */
function attempt<T>(walk: Walk, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    let reason = "an error that cannot be shown";
    try {
      reason = String(cause);
    } catch { /* even its text throws */ }
    throw refusal(walk, `reading it threw ${reason}`);
  }
}

function refusal(walk: Walk, what: string): NotJson {
  const [root, ...keys] = walk.path;
  const path = keys.map((key) => typeof key === "number" ? `[${key}]` : `.${key}`).join("");
  return new NotJson(`Cannot ${walk.verb} ${root}${path}: ${what}`);
}
