const encoder = new TextEncoder();
const decoder = new TextDecoder();
const stringify = JSON.stringify;

// Room for what the host adds to a result that was cut.
const MARK_BYTES = 120;

/**
 * The result frame for a result's JSON text. A text longer than the limit is cut behind a whole element, and its whole
 * size is said.
 */
export function resultLine(json: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes: most results need no counting.
  if (json.length * 3 > maxBytes) {
    const bytes = encoder.encode(json);
    if (bytes.length > maxBytes) {
      const room = Math.max(0, maxBytes - MARK_BYTES);
      const text = decoder.decode(bytes.subarray(0, room)).replace(/\ufffd$/, "");
      return stringify({ type: "__result__", text: wholeElements(text), original_bytes: bytes.length });
    }
  }
  return `{"type":"__result__","value":${json}}`;
}

/** The text up to its last comma between elements; all of it where there is none, as in one long string. */
function wholeElements(text: string): string {
  let end = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "\\" && inString) at++;
    else if (character === '"') inString = !inString;
    else if (character === "," && !inString) end = at;
  }
  return end > 0 ? text.slice(0, end) : text;
}
