import { internals } from "./internals.ts";
import type { HostFrame, ToolErrorFrame, ToolResultFrame } from "./protocol.ts";
import { readFrames, readFramesSync } from "./read_frames.ts";
import { writeLine } from "./write_frame.ts";

/** What the host says to a call. Whoever asked makes the error himself, so that its stack leads to who asked him. */
export type Answer = ToolResultFrame | ToolErrorFrame;

type CallType = "__tool_call__" | "__fetch__" | "__file__";

interface Call {
  type: CallType;
  fields: string;
  /** Who waits for the answer. Nobody any more, when the call was given up. */
  settle: ((answer: Answer) => void) | undefined;
  /** Stop listening to the signal that could end the call. */
  release: (() => void) | undefined;
  /** Empty until it is sent. */
  id: string;
  bytes: number;
  /** The call that is held back behind this one. */
  next: Call | undefined;
}

const core = internals.core;
const defer = queueMicrotask;
const { addEventListener, removeEventListener } = AbortSignal.prototype;

// The host ends a run whose unanswered calls are more than it keeps. Honest code may ask for a thousand files at once:
// those beyond a share of what the host bears wait here, and go out in their order as answers come.
const MAX_SENT = 200;
let maxFrameBytes = 64 * 1024;

/** The calls that are sent and have no answer, whether somebody waits for it or not. */
const sent: Record<string, Call> = Object.create(null);
let sentCount = 0;
let sentBytes = 0;
let firstHeld: Call | undefined;
let lastHeld: Call | undefined;

let waitingCount = 0;
let lastId = 0;
let pumping = false;
let scheduled = false;

/** Set how long a line the host takes. What is held back goes by it. */
export function limitCalls(max_frame_bytes: number): void {
  maxFrameBytes = max_frame_bytes;
}

/**
 * Ask the host: the fields are those of the frame behind its id, as JSON text without the braces. When the signal is
 * aborted first, the host is told so and the promise is rejected with the signal's reason.
 */
export function callHost(type: CallType, fields: string, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = made(type, fields, resolve);
    if (hasRoom()) send(call);
    else hold(call);
    if (signal !== undefined) giveUpOn(signal, call, reject);
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
  send(made(type, fields, (given) => answer = given));
  while (answer === undefined) readFramesSync().forEach(settle);
  return answer;
}

function made(type: CallType, fields: string, settle: Call["settle"]): Call {
  waitingCount++;
  return { type, fields, settle, release: undefined, id: "", bytes: 0, next: undefined };
}

// A frame is as long as the host takes at most: with the next one there are never more bytes than two of those, and
// with one that is waited for synchronously three. Where nothing is sent there is always room, and where there is room
// nobody is held back.
function hasRoom(): boolean {
  return sentCount < MAX_SENT && sentBytes <= maxFrameBytes;
}

function send(call: Call): void {
  const id = call.id = String(++lastId);
  sent[id] = call;
  sentCount++;
  call.bytes = writeLine(`{"type":"${call.type}","call_id":"${id}",${call.fields}}`);
  sentBytes += call.bytes;
  call.fields = "";
}

function hold(call: Call): void {
  if (lastHeld === undefined) firstHeld = call;
  else lastHeld.next = call;
  lastHeld = call;
}

function sendHeld(): void {
  while (firstHeld !== undefined && hasRoom()) {
    const call = firstHeld;
    firstHeld = call.next;
    if (firstHeld === undefined) lastHeld = undefined;
    if (call.settle !== undefined) send(call);
  }
}

function giveUpOn(signal: AbortSignal, call: Call, reject: (reason: unknown) => void): void {
  const giveUp = () => {
    if (leave(call) === undefined) return;
    if (call.id !== "") writeLine(`{"type":"__abort__","call_id":"${call.id}"}`);
    reject(signal.reason);
  };
  Reflect.apply(addEventListener, signal, ["abort", giveUp]);
  // A signal that somebody listens to keeps its timer, and a timer keeps answers off the fast path.
  call.release = () => Reflect.apply(removeEventListener, signal, ["abort", giveUp]);
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
  const call = sent[frame.call_id];
  if (call === undefined) return;
  delete sent[frame.call_id];
  sentCount--;
  sentBytes -= call.bytes;
  leave(call)?.(frame);
  if (firstHeld !== undefined) sendHeld();
}

/** Who waited for this call, and from now on waits no more. */
function leave(call: Call): Call["settle"] {
  const { settle } = call;
  if (settle === undefined) return undefined;
  call.settle = undefined;
  waitingCount--;
  call.release?.();
  return settle;
}
