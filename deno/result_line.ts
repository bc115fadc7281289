const encoder = new TextEncoder();
const decoder = new TextDecoder();
const stringify = JSON.stringify;

/** The result frame for a result's JSON text. A text longer than the limit is cut, and its whole size is said. */
export function resultLine(json: string, maxBytes: number): string {
  // A UTF-16 unit is at most three bytes: most results need no counting.
  if (json.length * 3 > maxBytes) {
    const bytes = encoder.encode(json);
    if (bytes.length > maxBytes) {
      const text = decoder.decode(bytes.subarray(0, maxBytes)).replace(/\ufffd$/, "");
      return stringify({ type: "__result__", text, original_bytes: bytes.length });
    }
  }
  return `{"type":"__result__","value":${json}}`;
}
