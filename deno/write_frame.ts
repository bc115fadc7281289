import type { GuestFrame } from "./protocol.ts";

// Kept from before the agent's code ran: patching JSON.stringify must not rewrite what the run says.
const stringify = JSON.stringify;
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const stdout = Deno.stdout;
const writeSync = stdout.writeSync.bind(stdout);

/** Write one frame whole. It blocks while the host does not read, which is the back-pressure. */
export function writeFrame(frame: GuestFrame): void {
  writeLine(stringify(frame));
}

/** Write one frame that is JSON text already; return how many bytes the line has. */
export function writeLine(json: string): number {
  const bytes = encode(json + "\n");
  let written = 0;
  while (written < bytes.length) {
    written += writeSync(written === 0 ? bytes : bytes.subarray(written));
  }
  return written;
}
