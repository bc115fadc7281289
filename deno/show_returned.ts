import { visibleBytes } from "./visible_bytes.ts";

type Display = (value: unknown) => void;
const isArray = Array.isArray;
const keysOf = Object.keys;
const prototypeOf = Object.getPrototypeOf;
const objectPrototype = Object.prototype;
/** A program that returns more parts than these returns data, and is not searched. */
const MAX_PARTS = 100;

/**
 * The value that a program returns, for its JSON text. A picture, sound or blob as tools give it, `{ type, mimeType,
 * data }`, by itself, in an array or as a property, is displayed, and its size stands for its bytes. What cannot be
 * displayed stays as it is.
 */
export function showReturned(value: unknown, display: Display): unknown {
  if (isArray(value)) return withShownItems(value, display);
  const shown = withoutBytes(value, display);
  return shown === value ? withShownParts(value, display) : shown;
}

function withShownItems(value: unknown[], display: Display): unknown {
  if (value.length > MAX_PARTS) return value;
  let copy: unknown[] | undefined;
  for (let at = 0; at < value.length; at++) {
    const shown = withoutBytes(value[at], display);
    if (shown === value[at]) continue;
    copy ??= [...value];
    copy[at] = shown;
  }
  return copy ?? value;
}

function withShownParts(value: unknown, display: Display): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    if (prototypeOf(value) !== objectPrototype || "toJSON" in value) return value;
    const names = keysOf(value);
    if (names.length > MAX_PARTS) return value;
    const found: Record<string, unknown> = {};
    for (const name of names) {
      // Only plain properties: a getter is read once, when the result becomes JSON.
      const part = Object.getOwnPropertyDescriptor(value, name)?.value;
      const shown = withoutBytes(part, display);
      if (shown !== part) found[name] = shown;
    }
    return keysOf(found).length === 0 ? value : { ...value, ...found };
  } catch {
    return value;
  }
}

function withoutBytes(value: unknown, display: Display): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    const { type, mimeType, uri, data } = value as Record<string, unknown>;
    const isMedia = type === "image" || type === "audio" || type === "blob";
    const bytes = isMedia && typeof mimeType === "string" ? visibleBytes(data) : undefined;
    if (bytes === undefined) return value;
    display({ type, mimeType, data: bytes });
    const where = typeof uri === "string" ? { uri } : {};
    return { type, mimeType, ...where, bytes: bytes.length };
  } catch {
    return value;
  }
}
