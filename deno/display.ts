import { beyond } from "./beyond.ts";
import { LimitError } from "./limit_error.ts";
import { pipe } from "./pipe.ts";
import type { DisplayFrame, RunFrame } from "./protocol.ts";
import { toJson } from "./to_json.ts";
import { visibleBytes } from "./visible_bytes.ts";
import { writeLine } from "./write_frame.ts";

type Kind = DisplayFrame["kind"];
type Shown = [kind: Kind, data: string, bytes: number, about?: string];

// Kept from before the agent's code ran.
const { parse, stringify } = JSON;
const isArray = Array.isArray;
const keys = Object.keys;
const toBase64 = Uint8Array.prototype.toBase64;
const SVG = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^]*?-->\s*|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>\s*)*<svg[\s>\/]/;
const DATA_URL = /^data:image\/(?:png|jpeg);base64,/;
const fromBase64 = Uint8Array.fromBase64;
/** The host shows less, and looks for secrets before it cuts. */
const MAX_TITLE = 1_000;
/** The host reads no more cells of a table, and shows no more rows. */
const MAX_CELLS = 20_000;
const MAX_ROWS = 1_000;
// The type, the kind and the names of the fields, and a title of the longest characters.
const FRAME_BYTES = 256 + 6 * MAX_TITLE;
const MIME_TYPE = /^[a-z0-9][a-z0-9.+-]{0,59}\/[a-z0-9][a-z0-9.+-]{0,59}$/;
const OF_PICTURES = /^image\/(?:png|jpe?g)$/;
const WANTED = "display takes PNG or JPEG bytes, SVG text, rows of objects, or Markdown";

/**
 * The `display` of a run: it shows a value to the person and to the model. It returns at once, and throws for what
 * cannot be shown. The host judges anew whatever arrives.
 */
export function lendDisplay(
  { display_limits, max_frame_bytes }: Pick<RunFrame, "display_limits" | "max_frame_bytes">,
): (value: unknown, options?: { title?: string; type?: string }) => void {
  const [maxCount, maxBytes] = display_limits ?? [0, 0];
  let count = 0;
  let left = maxBytes;
  return function display(value, options) {
    const { title: wanted, type } = optionsOf(options);
    const [kind, data, bytes, about = ""] = shown(value, type, left);
    if ((type ?? kind) !== kind) {
      throw new TypeError(`Cannot display ${called(value)} as "${type}": it would be shown as "${kind}"`);
    }
    if (count >= maxCount) {
      throw new LimitError(`Cannot display: a run may display at most ${maxCount} times`);
    }
    const own = String(wanted ?? "").toWellFormed().slice(0, MAX_TITLE - about.length);
    const title = (own + about).trim();
    const line = `{"type":"__display__","kind":"${kind}","title":${
      stringify(title.toWellFormed())
    },"data":${data}}`;
    const over = beyond(line, max_frame_bytes - FRAME_BYTES);
    if (over > 0) {
      throw new LimitError(
        `Cannot display ${over} bytes at once: one display may have ${max_frame_bytes}, as base64`,
      );
    }
    count++;
    left -= bytes;
    if (pipe.isOpen) writeLine(line);
  };
}

function optionsOf(options: unknown): { title?: unknown; type?: unknown } {
  if (options === undefined || options === null) return {};
  if (!isRow(options)) {
    const kind = isArray(options) ? "an array" : `a ${typeof options}`;
    throw new TypeError(`Cannot display with ${kind} for options: write display(value, { title, type })`);
  }
  const strange = keys(options).find((name) => name !== "title" && name !== "type");
  if (strange === undefined) return options;
  throw new TypeError(`Cannot display with the option "${strange}": there are title and type`);
}

function called(value: unknown): string {
  if (value === null) return "null";
  if (isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : typeof value === "string" ? "a text" : typeof value;
}

function tooLarge(bytes: number, left: number): LimitError {
  return new LimitError(`Cannot display ${bytes} bytes: this run may display ${left} more`);
}

/** What the value is shown as, its data as JSON text, and how much of the limit it takes. */
function shown(value: unknown, type: unknown, left: number): Shown {
  if (typeof value === "string") return shownText(value.toWellFormed(), type, left);
  const bytes = visibleBytes(value);
  if (bytes !== undefined) return shownBytes(bytes, left);
  if (typeof value === "object" && value !== null) {
    const { type, mimeType, data } = value as Record<string, unknown>;
    const bytes = visibleBytes(data);
    if (bytes !== undefined) return shownMedia(type, mimeType, bytes, left);
  }
  if (isArray(value) && value.every(isRow)) return shownTable(value, left);
  if (isRow(value)) {
    throw new TypeError("Cannot display a single object: put it into an array, display([row])");
  }
  throw new TypeError(`Cannot display ${called(value)}: ${WANTED}`);
}

function isRow(value: unknown): value is object {
  return typeof value === "object" && value !== null && !isArray(value);
}

/** The first rows, if there are more than anybody sees; the title says so. */
function shownTable(rows: unknown[], left: number): Shown {
  const about = rows.length > MAX_ROWS ? ` (the first ${MAX_ROWS} of ${rows.length} rows)` : "";
  const json = toJson(about ? rows.slice(0, MAX_ROWS) : rows, "display", "rows", MAX_CELLS);
  // A Date or a Set is an object, and its JSON is none.
  const at = (parse(json) as unknown[]).findIndex((row) => !isRow(row));
  if (at >= 0) throw new TypeError(`Cannot display rows[${at}]: it is no object with fields`);
  const [kind, data, bytes] = measured("table", json, left);
  return [kind, data, bytes, about];
}

function shownText(text: string, type: unknown, left: number): Shown {
  if (type !== "markdown" && DATA_URL.test(text)) return shownBytes(decoded(text), left);
  const isSvg = type === "svg" || (type !== "markdown" && SVG.test(text));
  return measured(isSvg ? "svg" : "markdown", text, left);
}

function decoded(url: string): Uint8Array {
  try {
    return fromBase64(url.replace(DATA_URL, ""));
  } catch {
    throw new TypeError("Cannot display a data URL whose base64 is damaged");
  }
}

/** A picture, sound or blob as tools give it. What no picture can be made of is given as a file of its type. */
function shownMedia(type: unknown, mimeType: unknown, bytes: Uint8Array, left: number): Shown {
  // Without its parameters: "audio/L16; rate=8000".
  const stated = String(mimeType ?? "").split(";", 1)[0].trim().toLowerCase();
  const isFile = type === "audio" || type === "blob" || (type === "image" && !OF_PICTURES.test(stated));
  if (!isFile || pictureKind(bytes) !== null || typeof mimeType !== "string") return shownBytes(bytes, left);
  if (bytes.length > left) throw tooLarge(bytes.length, left);
  const mime = MIME_TYPE.test(stated) ? stated : "application/octet-stream";
  const kind = type === "audio" && mime.startsWith("audio/") ? "audio" : "blob";
  return [kind, `"${mime};base64,${Reflect.apply(toBase64, bytes, [])}"`, bytes.length];
}

function pictureKind(bytes: Uint8Array): "png" | "jpeg" | null {
  if (startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10)) return "png";
  return startsWith(bytes, 0xff, 0xd8, 0xff) ? "jpeg" : null;
}

function shownBytes(bytes: Uint8Array, left: number): Shown {
  const kind = pictureKind(bytes);
  if (kind === null) throw new TypeError("Cannot display bytes that are neither PNG nor JPEG");
  // Measured first: a text of base64 is made only for what can be sent.
  if (bytes.length > left) throw tooLarge(bytes.length, left);
  return [kind, `"${Reflect.apply(toBase64, bytes, [])}"`, bytes.length];
}

function startsWith(bytes: Uint8Array, ...head: number[]): boolean {
  return head.every((byte, at) => bytes[at] === byte);
}

function measured(kind: Kind, text: string, left: number): Shown {
  const over = beyond(text, left);
  if (over > 0) throw tooLarge(over, left);
  return [kind, stringify(text), new TextEncoder().encode(text).length];
}
