// Kept from before the agent's code ran.
const isView = ArrayBuffer.isView;
const Bytes = Uint8Array;
const Buffer = ArrayBuffer;
const Words = DataView;

/** The bytes that a Uint8Array, a DataView or an ArrayBuffer shows, and no others of its buffer; else undefined. */
export function visibleBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Bytes) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof Buffer) return new Bytes(value);
  if (isView(value) && value instanceof Words) {
    return new Bytes(value.buffer, value.byteOffset, value.byteLength);
  }
  return undefined;
}
