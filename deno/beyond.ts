const encoder = new TextEncoder();

/** How many bytes the text has, if that is more than the limit; 0 if not. */
export function beyond(text: string, maxBytes: number): number {
  // A UTF-16 unit is at most three bytes: most texts need no counting.
  if (text.length * 3 <= maxBytes) return 0;
  const { length } = encoder.encode(text);
  return length > maxBytes ? length : 0;
}
