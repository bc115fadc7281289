import { internals } from "./internals.ts";
import type { HostFrame } from "./protocol.ts";
import { readFrames, readFramesSync } from "./read_frames.ts";
import { toJson } from "./to_json.ts";
import { ToolError } from "./tool_error.ts";
import { writeLine } from "./write_frame.ts";

interface Waiting {
  name: string;
  resolve: (value: unknown) => void;
  reject: (reason: Error) => void;
}

const stringify = JSON.stringify;
const { createSystemTimer } = internals.core;

const waiting: Record<string, Waiting> = Object.create(null);
let waitingCount = 0;
let lastId = 0;
let pumping = false;
let patient = false;
let idleReads = 0;

/** Ask the host to run a lent tool. The answer comes as the promise's value or as a ToolError. */
export function callHost(name: string, params: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const json = toJson(params ?? {}, `call ${name} with`, "arguments");
    const id = String(++lastId);
    waiting[id] = { name, resolve, reject };
    waitingCount++;
    writeLine(
      `{"type":"__tool_call__","call_id":"${id}","name":${stringify(name)},"params":${json}}`,
    );
    if (!pumping && !patient) beginPatience();
  });
}

/**
 * Take the host's answers when the event loop has run dry: a blocking read is two to three times as fast as an
 * asynchronous one, and with nothing else to do it delays nobody. Returns false when no answer is due.
 */
export function takeAnswersWhenIdle(): boolean {
  if (waitingCount === 0 || pumping) return false;
  idleReads++;
  readFramesSync().forEach(settle);
  return true;
}

// When something else keeps the event loop busy (a timer, a port), it never runs dry: then the answers are read
// asynchronously. The timer is not itself a reason for the loop to go on.
function beginPatience(): void {
  const readsBefore = idleReads;
  patient = true;
  createSystemTimer(
    () => {
      patient = false;
      if (pumping || waitingCount === 0) return;
      if (idleReads === readsBefore) pump();
      else beginPatience();
    },
    1,
    false,
  );
}

async function pump(): Promise<void> {
  pumping = true;
  while (waitingCount > 0) (await readFrames()).forEach(settle);
  pumping = false;
}

function settle(frame: HostFrame): void {
  if (frame.type === "__run__" || frame.type === "__rehearse__") return;
  const call = waiting[frame.call_id];
  if (call === undefined) return;
  delete waiting[frame.call_id];
  waitingCount--;
  if (frame.type === "__tool_result__") call.resolve(frame.result);
  else call.reject(new ToolError(call.name, frame.error, frame.code, frame.retryable));
}
