import { internals } from "./internals.ts";
import type { HostFrame, ToolErrorFrame, ToolResultFrame } from "./protocol.ts";
import { readFrames, readFramesSync } from "./read_frames.ts";
import { writeLine } from "./write_frame.ts";

/** What the host says to a call. Whoever asked makes the error himself, so that its stack leads to who asked him. */
export type Answer = ToolResultFrame | ToolErrorFrame;

type CallType = "__tool_call__" | "__fetch__" | "__file__";

interface Waiting {
  settle: (answer: Answer) => void;
  /** Stop listening to the signal that could end the call. */
  release?: () => void;
}

const core = internals.core;
const defer = queueMicrotask;
const { addEventListener, removeEventListener } = AbortSignal.prototype;

const waiting: Record<string, Waiting> = Object.create(null);
let waitingCount = 0;
let lastId = 0;
let pumping = false;
let scheduled = false;

/**
 * Ask the host: the fields are those of the frame behind its id, as JSON text without the braces. When the signal is
 * aborted first, the host is told so and the promise is rejected with the signal's reason.
 */
export function callHost(type: CallType, fields: string, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const id = send(type, fields, resolve);
    if (signal !== undefined) giveUpOn(signal, id, reject);
    schedule();
  });
}

/**
 * Ask the host and wait, while nothing else goes on. Whoever waits for other calls is answered too. Undefined while an
 * asynchronous read is under way: the answer would end there and never here.
 */
export function callHostSync(type: CallType, fields: string): Answer | undefined {
  if (pumping) return undefined;
  let answer: Answer | undefined;
  send(type, fields, (given) => answer = given);
  while (answer === undefined) readFramesSync().forEach(settle);
  return answer;
}

function send(type: CallType, fields: string, settle: Waiting["settle"]): string {
  const id = String(++lastId);
  waiting[id] = { settle };
  waitingCount++;
  writeLine(`{"type":"${type}","call_id":"${id}",${fields}}`);
  return id;
}

function giveUpOn(signal: AbortSignal, id: string, reject: (reason: unknown) => void): void {
  const giveUp = () => {
    if (take(id) === undefined) return;
    writeLine(`{"type":"__abort__","call_id":"${id}"}`);
    reject(signal.reason);
  };
  Reflect.apply(addEventListener, signal, ["abort", giveUp]);
  // A signal that somebody listens to keeps its timer, and a timer keeps answers off the fast path.
  waiting[id].release = () => Reflect.apply(removeEventListener, signal, ["abort", giveUp]);
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
  if (frame.type !== "__run__" && frame.type !== "__rehearse__") take(frame.call_id)?.settle(frame);
}

/** The call that waits under this id, which from now on waits no more. */
function take(id: string): Waiting | undefined {
  const call = waiting[id];
  if (call === undefined) return undefined;
  delete waiting[id];
  waitingCount--;
  call.release?.();
  return call;
}
