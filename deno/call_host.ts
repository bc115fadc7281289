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
const core = internals.core;
const defer = queueMicrotask;

const waiting: Record<string, Waiting> = Object.create(null);
let waitingCount = 0;
let lastId = 0;
let pumping = false;
let scheduled = false;

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
    schedule();
  });
}

// Once everything that could run has run. With nothing else left to happen, a blocking read is two to three times as
// fast as an asynchronous one and delays nobody; while a timer or a port is open, answers are read beside it.
function takeAnswers(): void {
  scheduled = false;
  if (pumping || waitingCount === 0) return;
  core.setHasTickScheduled(false); // this very tick would count as work
  if (core.eventLoopHasMoreWork()) void pump();
  else readFramesSync().forEach(settle);
  if (waitingCount > 0 && !pumping) schedule();
}

function schedule(): void {
  if (scheduled || pumping) return;
  scheduled = true;
  defer(queueFirstTick);
}

// Ticks run one after the other, and their promise reactions only behind the last of them. So a first tick lets those
// of the agent's code come, a reaction lets theirs come, and only the tick after that may block.
const queueFirstTick = (): void => queueTick(passOn);
const passOn = (): void => defer(queueSecondTick);
const queueSecondTick = (): void => queueTick(takeAnswers);

function queueTick(callback: () => void): void {
  core.queueNextTick({ callback, asyncId: 0, triggerAsyncId: 0 });
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
