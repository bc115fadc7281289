/** What the tests beside the sources share. Nothing here is part of the harness. */

import { deepStrictEqual } from "node:assert/strict";
import type { GuestFrame, HostFrame } from "./protocol.ts";

export interface GoldenFrame<Frame> {
  name: string;
  line: string;
  frame: Frame;
  /** For a cut result: the JSON text that it is the beginning of, and the limit. */
  made_from?: { json: string; max_bytes: number };
}

interface Golden {
  host: GoldenFrame<HostFrame>[];
  guest: GoldenFrame<GuestFrame>[];
}

type ExactReviver = (key: string, value: unknown, context: { source?: string }) => unknown;
type ExactParse = (text: string, reviver: ExactReviver) => unknown;

/** Parse JSON with integers beyond 2^53 as BigInt. */
export function parseExactly(text: string): unknown {
  const isLong = (value: unknown) => Number.isInteger(value) && !Number.isSafeInteger(value);
  return (JSON.parse as ExactParse)(text, (_, value, { source }) => isLong(value) ? BigInt(source!) : value);
}

/** The frames that both halves are held to. */
export function readGolden(): Golden {
  const text = Deno.readTextFileSync(new URL("testdata/frames.json", import.meta.url));
  const { frames } = parseExactly(text) as { frames: (GoldenFrame<never> & { direction: string })[] };
  const from = (direction: string) => frames.filter((entry) => entry.direction === direction);
  return { host: from("host"), guest: from("guest") };
}

/** Stands in for stdin and stdout. It must be put in place before the modules that use them are imported. */
export class FakePipe {
  #lines: string[] = [];
  #chunks: Uint8Array[] = [];
  #wake = () => {};
  /** At most so many bytes are taken by one write. */
  maxWrite = Infinity;

  constructor() {
    const decoder = new TextDecoder();
    let pending = "";
    Deno.stdout.writeSync = (bytes) => {
      const count = Math.min(bytes.length, this.maxWrite);
      const lines = (pending + decoder.decode(bytes.subarray(0, count), { stream: true })).split("\n");
      pending = lines.pop()!;
      this.#lines.push(...lines);
      return count;
    };
    Deno.stdin.readSync = (buffer) => this.#read(buffer);
    Deno.stdin.read = async (buffer) => {
      while (this.#chunks.length === 0) await new Promise<void>((resolve) => this.#wake = resolve);
      return this.#read(buffer);
    };
    Deno.exit = (code) => {
      throw new Error(`exit ${code}`);
    };
  }

  /** Let the text be read, in as many reads as there are pieces. */
  send(...pieces: (string | Uint8Array)[]): void {
    for (const piece of pieces) {
      this.#chunks.push(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    }
    this.#wake();
  }

  /** Wait until so many lines are written, for five seconds at most; take them. */
  async takeWhenWritten(count: number): Promise<string[]> {
    const deadline = AbortSignal.timeout(5000);
    while (this.#lines.length < count) {
      deadline.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve));
    }
    return this.take();
  }

  /** The lines written since the last time. */
  take(): string[] {
    return this.#lines.splice(0);
  }

  #read(buffer: Uint8Array): number | null {
    const chunk = this.#chunks.shift();
    if (chunk === undefined) return null;
    const count = Math.min(chunk.length, buffer.length);
    buffer.set(chunk.subarray(0, count));
    if (count < chunk.length) this.#chunks.unshift(chunk.subarray(count));
    return count;
  }
}

export function assertEquals(actual: unknown, expected: unknown): void {
  deepStrictEqual(actual, expected);
}

/** What the action throws, or its promise is rejected with. */
export async function thrownBy(action: () => unknown): Promise<Error> {
  try {
    await action();
  } catch (error) {
    return error as Error;
  }
  throw new Error("Nothing was thrown");
}
