import type { HostFrame } from "./protocol.ts";

const parse = JSON.parse;
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);
const stdin = Deno.stdin;
const readSync = stdin.readSync.bind(stdin);
const read = stdin.read.bind(stdin);
const exit = Deno.exit;

// Small while the process waits in the pool, as large as the pipe once a long frame is on its way.
const SMALL = 16 * 1024;
const LARGE = 1024 * 1024;
let buffer = new Uint8Array(SMALL);
let chunks: Uint8Array<ArrayBuffer>[] = [];

/** Wait for frames without giving way to timers: right only while nothing else can happen. */
export function readFramesSync(): HostFrame[] {
  for (;;) {
    const frames = accept(readSync(buffer));
    if (frames.length > 0) return frames;
  }
}

/** Wait for frames while timers and other promises go on. */
export async function readFrames(): Promise<HostFrame[]> {
  for (;;) {
    const frames = accept(await read(buffer));
    if (frames.length > 0) return frames;
  }
}

/** Add what was read; return the frames that are now complete. A host that is gone ends the process. */
function accept(count: number | null): HostFrame[] {
  if (count === null) return exit(0);
  const fresh = buffer.subarray(0, count);
  const end = fresh.lastIndexOf(10);
  if (end < 0) {
    chunks.push(fresh.slice());
    if (buffer.length === SMALL) buffer = new Uint8Array(LARGE);
    return [];
  }
  const lines = decode(joined(fresh.subarray(0, end))).split("\n");
  chunks = end + 1 < count ? [fresh.slice(end + 1)] : [];
  return lines.map((line) => parse(line) as HostFrame);
}

function joined(last: Uint8Array): Uint8Array {
  if (chunks.length === 0) return last;
  let length = last.length;
  for (const chunk of chunks) length += chunk.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  whole.set(last, at);
  return whole;
}
