import { limitCalls } from "./call_host.ts";
import { captureConsole, limitConsole } from "./capture_console.ts";
import { describeError } from "./describe_error.ts";
import { lendDisplay } from "./display.ts";
import { compile, isClass } from "./evaluate.ts";
import { lendFetch } from "./fetch.ts";
import { lendFiles } from "./files.ts";
import { harden } from "./harden.ts";
import { lendTools } from "./lend_tools.ts";
import { makeRepeatable, prepareToRepeat, seedRandom } from "./make_repeatable.ts";
import { type Phase, PROTOCOL, type RehearseFrame, type ResideFrame, type RunFrame } from "./protocol.ts";
import { readFramesSync } from "./read_frames.ts";
import { failSignal, reside } from "./reside.ts";
import { resultLine } from "./result_line.ts";
import { showReturned } from "./show_returned.ts";
import { shareErrors } from "./share_errors.ts";
import { lendStore, storeSettled } from "./store.ts";
import { toJson } from "./to_json.ts";
import { writeFrame, writeLine } from "./write_frame.ts";

const stringify = JSON.stringify;
const NO_VALUE = stringify({ type: "__no_value__" });
let finished = false;

// Apart from `answer`, which the engine would otherwise optimise in the middle of the first real run.
function grant(frame: RunFrame): ReturnType<typeof lendDisplay> {
  const display = lendDisplay(frame);
  Object.assign(globalThis, {
    context: frame.context,
    tools: lendTools(frame.tools),
    fetch: lendFetch(frame),
    store: lendStore(frame),
    display,
  });
  if (frame.workspace) Object.assign(Deno, lendFiles(frame));
  if (frame.deterministic !== null) makeRepeatable(frame.deterministic, frame.clock_ms, frame.seed);
  else if (frame.seed !== undefined) seedRandom(frame.seed);
  return display;
}

/** Run the code; return the frame that ends the run. */
async function answer(frame: RunFrame): Promise<string> {
  let phase: Phase = "compile";
  try {
    const display = grant(frame);
    const program = await compile(frame.code);
    phase = "run";
    const value = await valueOf(await program());
    // What was set without `await` is kept, too.
    const settled = storeSettled();
    if (settled !== undefined) await settled;
    phase = "return";
    if (value === undefined) return NO_VALUE;
    return resultLine(toJson(showReturned(value, display), "return", "result"), frame.max_result_bytes);
  } catch (error) {
    return stringify(describeError(error, phase));
  }
}

/** A function of no parameters stands for what it gives: `async () => {…}` is how some write a whole program. */
function valueOf(value: unknown): unknown {
  if (typeof value !== "function" || value.length > 0 || isClass(value)) return value;
  return value();
}

// All that a run does, done before anybody waits for it: the first time costs more than all that follow.
async function rehearse(frame: RehearseFrame): Promise<void> {
  for (const run of frame.runs) writeLine(await answer(run));
}

function finish(line: string): void {
  if (finished) return;
  finished = true;
  writeLine(line);
}

function fail(event: Event, error: unknown): void {
  event.preventDefault();
  if (!failSignal(() => error)) finish(stringify(describeError(error, "run")));
}

/** Nothing is left to happen: wait for the end, which only the host brings. */
function idle(event: Event): void {
  event.preventDefault();
  if (failSignal(() => new Error("It waits for a promise that nothing will settle"))) return;
  if (!finished) writeFrame({ type: "__debug__", message: "idle" });
  for (;;) readFramesSync();
}

async function main(): Promise<void> {
  captureConsole();
  harden();
  shareErrors();
  prepareToRepeat();
  addEventListener("beforeunload", idle);
  addEventListener("error", (event) => fail(event, event.error));
  addEventListener("unhandledrejection", (event) => fail(event, event.reason));
  await rehearse(readFramesSync()[0] as RehearseFrame);
  writeFrame({ type: "__ready__", protocol: PROTOCOL, deno: Deno.version.deno });
  const frame = readFramesSync()[0] as RunFrame | ResideFrame;
  limitConsole(frame.max_output_bytes);
  limitCalls(frame.max_frame_bytes);
  if (frame.type === "__reside__") await reside(frame);
  else finish(await answer(frame));
}

void main();
