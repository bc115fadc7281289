import { pipe } from "./pipe.ts";
import { internals } from "./internals.ts";
import type { HostFrame, SignalsFrame, ToolErrorFrame, ToolResultFrame } from "./protocol.ts";
import { readFrames, readFramesSync } from "./read_frames.ts";
import { writeLine } from "./write_frame.ts";

/** What the host says to a call. Whoever asked makes the error himself, so that its stack leads to who asked him. */
export type Answer = ToolResultFrame | ToolErrorFrame;

type CallType = "__tool_call__" | "__fetch__" | "__file__" | "__store__";

interface Call {
  /** Who waits for the answer. Nobody any more, when the call was given up. */
  settle: ((answer: Answer) => void) | undefined;
  /** Empty until it is sent. */
  id: string;
  bytes: number;
  /** Stop listening to the signal that could end the call. */
  release?: () => void;
}

/** A call that is not sent yet, and the one behind it. */
interface Held {
  call: Call;
  type: CallType;
  fields: string;
  next?: Held;
}

const core = internals.core;
const defer = queueMicrotask;
const { addEventListener, removeEventListener } = AbortSignal.prototype;

// The host ends a run whose unanswered calls are more than it keeps. Honest code may ask for a thousand files at once:
// those beyond a share of what the host bears wait here, and go out in their order as answers come.
const MAX_SENT = 200;

/** The calls that are sent and have no answer, whether somebody waits for it or not. */
const sent: Record<string, Call> = Object.create(null);
const wire = { calls: 0, bytes: 0, maxFrameBytes: 64 * 1024 };
let firstHeld: Held | undefined;
let lastHeld: Held | undefined;

let waitingCount = 0;
let lastId = 0;
let pumping = false;
let pumped = Promise.resolve();
const signals: SignalsFrame[] = [];
let scheduled = false;

/** Set how long a line the host takes. What is held back goes by it. */
export function limitCalls(max_frame_bytes: number): void {
  wire.maxFrameBytes = max_frame_bytes;
}

/**
 * Ask the host: the fields are those of the frame behind its id, as JSON text without the braces. When the signal is
 * aborted first, the host is told so and the promise is rejected with the signal's reason.
 */
export function callHost(type: CallType, fields: string, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (!pipe.isOpen) return;
    const call: Call = { settle: resolve, id: "", bytes: 0 };
    waitingCount++;
    if (hasRoom()) send(call, type, fields);
    else hold({ call, type, fields });
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
  waitingCount++;
  send({ settle: (given) => answer = given, id: "", bytes: 0 }, type, fields);
  while (answer === undefined) readFramesSync().forEach(settle);
  return answer;
}

/** Forget every call: nobody waits for them any more, and answers that still come are dropped. */
export function forgetCalls(): void {
  if (wire.calls === 0) return;
  firstHeld = lastHeld = undefined;
  for (const id in sent) {
    leave(sent[id]);
    delete sent[id];
  }
  wire.calls = wire.bytes = waitingCount = 0;
}

/** Wait for signals while nothing else goes on. */
export async function nextSignals(): Promise<SignalsFrame> {
  // A read is under way that cannot be taken back: the host wakes it, if it knows of calls that were forgotten.
  if (pumping) await pumped;
  while (signals.length === 0) readFramesSync().forEach(settle);
  return signals.shift()!;
}

// A frame is as long as the host takes at most: with the next one there are never more bytes than two of those, and
// with one that is waited for synchronously three. Where nothing is sent there is always room, and where there is room
// nobody is held back.
function hasRoom(): boolean {
  return wire.calls < MAX_SENT && wire.bytes <= wire.maxFrameBytes;
}

function send(call: Call, type: CallType, fields: string): void {
  const id = call.id = String(++lastId);
  sent[id] = call;
  wire.calls++;
  wire.bytes += call.bytes = writeLine(`{"type":"${type}","call_id":"${id}",${fields}}`);
}

function hold(held: Held): void {
  if (lastHeld === undefined) firstHeld = held;
  else lastHeld.next = held;
  lastHeld = held;
}

function sendHeld(): void {
  while (firstHeld !== undefined && hasRoom()) {
    const { call, type, fields, next } = firstHeld;
    firstHeld = next;
    if (next === undefined) lastHeld = undefined;
    if (call.settle !== undefined) send(call, type, fields);
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
  if (core.eventLoopHasMoreWork()) pumped = pump();
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
  if (frame.type === "__signals__") signals.push(frame);
  else if (frame.type === "__tool_result__" || frame.type === "__tool_error__") take(frame.call_id)?.(frame);
  if (firstHeld !== undefined) sendHeld();
}

/** Who waits for the call of this id, which is with the host no more. */
function take(id: string): Call["settle"] {
  const call = sent[id];
  if (call === undefined) return undefined;
  delete sent[id];
  wire.calls--;
  wire.bytes -= call.bytes;
  return leave(call);
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
