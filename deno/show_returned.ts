import { visibleBytes } from "./visible_bytes.ts";

type Display = (value: unknown) => void;
const isArray = Array.isArray;

/**
 * The value that a program returns, for its JSON text. A picture as tools give it, `{ type: "image", mimeType, data }`,
 * by itself or in an array, is displayed, and its size stands for its bytes. What cannot be displayed stays as it is.
 */
export function showReturned(value: unknown, display: Display): unknown {
  return isArray(value) ? value.map((item) => withoutBytes(item, display)) : withoutBytes(value, display);
}

function withoutBytes(value: unknown, display: Display): unknown {
  if (typeof value !== "object" || value === null) return value;
  try {
    const { type, mimeType, data } = value as Record<string, unknown>;
    const bytes = type === "image" && typeof mimeType === "string" ? visibleBytes(data) : undefined;
    if (bytes === undefined) return value;
    display(bytes);
    return { type, mimeType, bytes: bytes.length };
  } catch {
    return value;
  }
}
