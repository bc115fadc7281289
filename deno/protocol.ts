/** The frames of the pipe: one JSON object a line. The host's half is `sandbox/contracts/frames.py`. */

/** Raised when a frame changes its meaning; the host refuses a harness that speaks another number. */
export const PROTOCOL = 1;

/** A tool that the host lends to this run: where it hangs below `tools`, and the name to call it by. */
export interface LentTool {
  path: string[];
  name: string;
  /** The MCP server whose tool it is, if it is one, and what that server calls it. */
  server?: string;
  tool?: string;
  /** Other paths that lead to it. */
  aliases?: string[][];
}

/** What the code may reach: nothing, or what the host fetches for it. */
export type Tier = "isolated" | "network";

export interface RunFrame {
  type: "__run__";
  code: string;
  context: unknown;
  tools: LentTool[];
  tier: Tier;
  /** Whether the file functions of `Deno` work, on files that the host keeps. */
  workspace: boolean;
  /**
   * Whether clocks and chance are the same for every such run, and the host is told when the code asks for them: in
   * code of plain words there is less to replace.
   */
  deterministic: "plain" | "wholly" | null;
  max_result_bytes: number;
  max_output_bytes: number;
  /** The host ends a run that sends a longer line. */
  max_frame_bytes: number;
  /** How often the code may display something, and how many bytes in all. */
  display_limits?: [number, number];
  /** What `Math.random` is drawn from. Without one it is the engine's own, or that of all repeatable runs. */
  seed?: number;
  /** Where the clock of a repeatable run begins. */
  clock_ms?: number;
}

/** The first frame of all: runs to be done, and answered, before the process says that it is ready. */
export interface RehearseFrame {
  type: "__rehearse__";
  runs: RunFrame[];
}

/** Stay, with this code, and answer signals with it. The answer is a result when it is loaded, and an error if not. */
export interface ResideFrame {
  type: "__reside__";
  /** The body of an async function of `signal`, `state` and `emit`. */
  code: string;
  tools: LentTool[];
  tier: Tier;
  /** Whether the code may use files. */
  workspace: boolean;
  /** Whether clocks and chance are the same whenever a signal of the same time is given. */
  deterministic: boolean;
  /** By one signal. */
  max_output_bytes: number;
  max_frame_bytes: number;
  max_state_bytes: number;
  max_emitted: number;
  /** The data of one emitted signal. */
  max_signal_bytes: number;
  /** The code is a function of `args`; each signal has the arguments of a call, and what it emits is the result. */
  is_function: boolean;
}

/** Signals for a process that stays, to be answered one after the other. */
export interface SignalsFrame {
  type: "__signals__";
  batch: number;
  state: Record<string, unknown>;
  signals: unknown[];
}

/** The answer to a call, whether it was for a tool, the network, a file or the store. */
export interface ToolResultFrame {
  type: "__tool_result__";
  call_id: string;
  result: unknown;
  /** The places in the result that hold bytes, as base64. */
  bytes?: (string | number)[][];
}

export interface ToolErrorFrame {
  type: "__tool_error__";
  call_id: string;
  error: string;
  code: string;
  retryable: boolean;
}

export type HostFrame =
  | RehearseFrame
  | RunFrame
  | ResideFrame
  | SignalsFrame
  | ToolResultFrame
  | ToolErrorFrame;

export interface ReadyFrame {
  type: "__ready__";
  protocol: number;
  deno: string;
}

export interface ToolCallFrame {
  type: "__tool_call__";
  call_id: string;
  name: string;
  params: unknown;
}

export interface FetchFrame {
  type: "__fetch__";
  call_id: string;
  url: string;
  method: string;
  headers: [string, string][];
  /** Base64. */
  body: string | null;
  redirect: RequestRedirect;
}

/** What a fetch is answered with. */
export interface FetchResult {
  /** Where the last redirect led. */
  url: string;
  status: number;
  statusText: string;
  headers: [string, string][];
  /** Base64. */
  body: string;
  redirected: boolean;
}

export interface FileFrame {
  type: "__file__";
  call_id: string;
  operation: string;
  params: Record<string, string | number | boolean>;
}

/** Asks for what the host keeps for the conversation. Empty key: of no key. Null value: of none, or null itself. */
export interface StoreFrame {
  type: "__store__";
  call_id: string;
  operation: "get" | "set" | "delete" | "keys";
  key: string;
  value: unknown;
}

/** The code no longer waits for the answer to a call. One comes all the same, for a process that reads for it. */
export interface AbortFrame {
  type: "__abort__";
  call_id: string;
}

export type LogLevel = "debug" | "log" | "info" | "warn" | "error";

export interface OutputFrame {
  type: "__output__";
  level: LogLevel;
  data: string;
}

/**
 * Something to show to the person and the model. Pictures are base64, rows JSON text; sounds and blobs are base64
 * behind their MIME type, as in a data URL: "audio/wav;base64,…".
 */
export interface DisplayFrame {
  type: "__display__";
  kind: "png" | "jpeg" | "svg" | "table" | "markdown" | "audio" | "blob";
  title: string;
  data: string;
}

export interface DebugFrame {
  type: "__debug__";
  message: string;
}

/** The code asked for something that can be different the next time. Once in a run, and only if that is asked for. */
export interface VariedFrame {
  type: "__varied__";
  what: string;
}

/** A whole value, or the beginning of its JSON text when the text is longer than the run may answer. */
export type ResultFrame =
  | { type: "__result__"; value: unknown }
  | { type: "__result__"; text: string; original_bytes: number };

/** The code ended without a value. */
export interface NoValueFrame {
  type: "__no_value__";
}

/** Where a run failed: before it began, while it ran, or when its value was turned into JSON. */
export type Phase = "compile" | "run" | "return";

export interface ErrorFrame {
  type: "__error__";
  phase: Phase;
  name: string;
  message: string;
  stack: string;
}

/** What one signal led to. */
export interface AnswerFrame {
  type: "__answer__";
  batch: number;
  /** Which signal of the batch, counted from 0. */
  at: number;
  /** Microseconds that it computed, in the process's own words. */
  cpu_us: number;
  emitted: [string, unknown][];
  /** Null when it is as it was. */
  state: Record<string, unknown> | null;
}

/** Why one signal led to nothing. */
export interface FailedFrame extends Omit<ErrorFrame, "type"> {
  type: "__failed__";
  batch: number;
  at: number;
  cpu_us: number;
}

export type GuestFrame =
  | ReadyFrame
  | ToolCallFrame
  | FetchFrame
  | FileFrame
  | StoreFrame
  | AbortFrame
  | OutputFrame
  | DisplayFrame
  | DebugFrame
  | VariedFrame
  | ResultFrame
  | NoValueFrame
  | ErrorFrame
  | AnswerFrame
  | FailedFrame;
