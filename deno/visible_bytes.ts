// Kept from before the agent's code ran.
const isView = ArrayBuffer.isView;
const Bytes = Uint8Array;
const Clamped = Uint8ClampedArray;
const Buffer = ArrayBuffer;
const Words = DataView;
const at = Uint8Array.prototype.at;
// The getters themselves: a property of the value's own may say anything.
const views = Object.getPrototypeOf(Uint8Array.prototype);
const [arrayBuffer, arrayOffset, arrayLength] = gettersOf(views);
const [wordsBuffer, wordsOffset, wordsLength] = gettersOf(DataView.prototype);

function gettersOf(prototype: object): (() => unknown)[] {
  return ["buffer", "byteOffset", "byteLength"].map((name) =>
    Object.getOwnPropertyDescriptor(prototype, name)!.get!
  );
}

/**
 * The bytes that a Uint8Array (also a clamped one), a DataView or an ArrayBuffer shows, and no others of its buffer;
 * else undefined. Throws a TypeError for one whose bytes are gone.
 */
export function visibleBytes(value: unknown): Uint8Array | undefined {
  if (value instanceof Bytes || value instanceof Clamped) {
    requireBytes(value);
    return bytesOf(value, arrayBuffer, arrayOffset, arrayLength);
  }
  if (value instanceof Buffer) return present(() => new Bytes(value));
  if (isView(value) && value instanceof Words) {
    return present(() => bytesOf(value, wordsBuffer, wordsOffset, wordsLength));
  }
  return undefined;
}

/** Throws a TypeError for a typed array that seems empty because its buffer was transferred, or cut below its end. */
export function requireBytes(view: ArrayBufferView): void {
  present(() => Reflect.apply(at, view, [0]));
}

function bytesOf(view: object, ...[buffer, offset, length]: (() => unknown)[]): Uint8Array {
  const read = (getter: () => unknown) => Reflect.apply(getter, view, []);
  return new Bytes(read(buffer) as ArrayBuffer, read(offset) as number, read(length) as number);
}

function present<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new TypeError("its bytes are gone: the buffer was transferred or made smaller");
  }
}
