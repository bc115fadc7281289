import { beyond } from "./beyond.ts";
import { forgetCalls, nextSignals } from "./call_host.ts";
import { CpuMeter } from "./cpu_meter.ts";
import { describeError } from "./describe_error.ts";
import { compileFunction, compileNeuron } from "./evaluate.ts";
import { lendFetch } from "./fetch.ts";
import { forgetWrites, lendFiles } from "./files.ts";
import { forbidCode } from "./forbid_code.ts";
import { internals } from "./internals.ts";
import { lendTools } from "./lend_tools.ts";
import { LimitError } from "./limit_error.ts";
import { Outbox } from "./outbox.ts";
import { makeSignalsRepeatable } from "./make_repeatable.ts";
import { pipe } from "./pipe.ts";
import type { ResideFrame, SignalsFrame } from "./protocol.ts";
import { MAX_VALUES_IN_CALL, toJson } from "./to_json.ts";
import { trackTimers } from "./track_timers.ts";
import { writeFrame, writeLine } from "./write_frame.ts";

const { core } = internals;
const { parse, stringify } = JSON;

/** Answers one signal, or one call of a function. */
type Answering = (signal: unknown, state: unknown, outbox: Outbox) => Promise<unknown>;

const meter = new CpuMeter();

/** Takes the first failure of the signal that is being answered, whoever reports it. */
let fail: ((error: unknown) => void) | undefined;
let endTimers = (): void => {};
let beginAt: ((atMs: number) => void) | undefined;
let turn = (): Promise<void> => Promise.resolve();

/** Fail the signal that is being answered, with the error that is made for it; false if none is. */
export function failSignal(make: () => unknown): boolean {
  if (fail === undefined) return false;
  fail(make());
  return true;
}

/** Stay: load the code, then answer signals until the host ends the process. */
export async function reside(frame: ResideFrame): Promise<void> {
  grant(frame);
  // Before it is loaded, and not after: code that finds a way to run while it is loaded must find them closed, too.
  forbidCode();
  let neuron: Answering;
  try {
    neuron = await (frame.is_function ? answeringCalls(frame.code) : answeringSignals(frame.code));
  } catch (error) {
    return writeFrame(describeError(error, "compile"));
  }
  await turn(); // until here this is still a module that is being loaded, which would count as work
  endTimers();
  pipe.isOpen = false;
  writeFrame({ type: "__result__", value: null });
  for (;;) await answerBatch(neuron, frame, await nextSignals());
}

async function answeringSignals(code: string): Promise<Answering> {
  const neuron = await compileNeuron(code);
  return (signal, state, outbox) => neuron(signal, state, outbox.emit);
}

async function answeringCalls(code: string): Promise<Answering> {
  const called = await compileFunction(code);
  return async (call, _, outbox) => outbox.give(await called((call as { args: unknown }).args));
}

function grant(frame: ResideFrame): void {
  // One turn of the event loop. Kept from before the code can have changed it.
  const { setImmediate } = globalThis as unknown as { setImmediate(callback: () => void): void };
  turn = () => new Promise((resolve) => setImmediate(resolve));
  endTimers = trackTimers();
  Object.assign(globalThis, { tools: lendTools(frame.tools), fetch: lendFetch(frame) });
  if (frame.workspace) Object.assign(Deno, lendFiles(frame));
  if (frame.deterministic) beginAt = makeSignalsRepeatable();
  // A rehearsal has left both.
  for (const name of ["context", "store"]) Reflect.deleteProperty(globalThis, name);
}

async function answerBatch(neuron: Answering, limits: ResideFrame, frame: SignalsFrame): Promise<void> {
  let state = stringify(frame.state);
  let at = 0;
  meter.spent_us(); // what came before is no signal's
  for (const signal of frame.signals) {
    const place = `"batch":${frame.batch},"at":${at++}`;
    const outbox = new Outbox(limits);
    const kept = parse(state); // its own: what an earlier signal has left running changes nothing here
    const failures = await run(neuron, signal, kept, outbox);
    state = answer(place, outbox.close(), failures, kept, state, limits);
  }
}

/** Give the signal to the code; return what has failed by the time it ends. */
async function run(neuron: Answering, signal: unknown, state: unknown, outbox: Outbox): Promise<unknown[]> {
  const failures: unknown[] = [];
  pipe.isOpen = true;
  beginAt?.((signal as { at: number }).at);
  await new Promise<void>((resolve) => {
    fail = (error) => {
      failures.push(error);
      resolve();
    };
    neuron(signal, state, outbox).then(() => resolve(), fail);
  });
  outbox.close();
  pipe.isOpen = false;
  forgetCalls();
  forgetWrites();
  endTimers();
  // A rejection that nobody has caught is told only now, and would be taken for a fault of the next signal.
  if (core.eventLoopHasMoreWork()) await turn();
  fail = undefined;
  return failures;
}

/** Write the answer; return the state that the next signal begins with. */
function answer(
  place: string,
  emitted: string,
  failures: unknown[],
  state: unknown,
  before: string,
  limits: ResideFrame,
): string {
  try {
    if (failures.length > 0) throw failures[0];
    const after = stateText(state, limits.max_state_bytes);
    const line = `{"type":"__answer__",${place},"cpu_us":${meter.spent_us()},"emitted":${emitted},"state":${
      after === before ? null : after
    }}`;
    const bytes = beyond(line, limits.max_frame_bytes);
    if (bytes > 0) {
      throw new LimitError(`Cannot answer with ${bytes} bytes, more than ${limits.max_frame_bytes}`);
    }
    writeLine(line);
    return after;
  } catch (error) {
    const { type: _, ...failure } = describeError(error, "run");
    writeLine(`{"type":"__failed__",${place},"cpu_us":${meter.spent_us()},${stringify(failure).slice(1)}`);
    return before;
  }
}

function stateText(state: unknown, maxBytes: number): string {
  const text = toJson(state, "keep", "state", MAX_VALUES_IN_CALL);
  if (text[0] !== "{") throw new TypeError("Cannot keep state: it is no longer an object");
  const bytes = beyond(text, maxBytes);
  if (bytes > 0) throw new LimitError(`Cannot keep state: it has ${bytes} bytes, more than ${maxBytes}`);
  return text;
}
