import { beyond } from "./beyond.ts";
import { callHost } from "./call_host.ts";
import { LimitError } from "./limit_error.ts";
import type { StoreFrame } from "./protocol.ts";
import { refusalError } from "./refusal_error.ts";
import { MAX_VALUES_IN_CALL, toJson } from "./to_json.ts";

// Kept from before the agent's code ran.
const stringify = JSON.stringify;
const { setTimeout } = globalThis;
// What a frame of the store holds beside its value; a key of control characters takes six bytes for each in JSON.
const OTHER_BYTES = 4 * 1024;
const MAX_KEY = 256;

/** The calls that have no answer yet. */
let unanswered = 0;
let lastCall: Promise<void> = Promise.resolve();
let allAnswered = (): void => {};

/**
 * The global `store`: JSON by key, which the host keeps for the conversation. Without one the host rejects every call.
 * A value that was set is there for later runs once this one has succeeded.
 */
export function lendStore({ max_frame_bytes }: { max_frame_bytes: number }): object {
  const store = {
    get: async (key: string): Promise<unknown> => {
      // As a list of none or one: a value may be null.
      const found = await ask("get", checked(key)) as unknown[];
      return found.length === 0 ? undefined : found[0];
    },
    set: async (key: string, value: unknown): Promise<void> => {
      const json = toJson(value, `keep ${stringify(checked(key))}:`, "value", MAX_VALUES_IN_CALL);
      const bytes = beyond(json, max_frame_bytes - OTHER_BYTES);
      if (bytes > 0) throw new LimitError(`Cannot keep ${stringify(key)}: ${bytes} bytes are too many`);
      await ask("set", key, json);
    },
    delete: async (key: string): Promise<boolean> => await ask("delete", checked(key)) as boolean,
    keys: async (): Promise<string[]> => await ask("keys", "") as string[],
  };
  return Object.freeze(Object.assign(Object.create(null), store));
}

/** Wait for the calls that the code made without waiting for them; undefined if there are none. */
export function storeSettled(): Promise<void> | undefined {
  if (unanswered === 0) return undefined;
  // One turn later: by then a refusal that nobody caught has failed the run.
  return new Promise((resolve) => allAnswered = () => setTimeout(resolve, 0));
}

// One call after the other: what is set without `await` is set in the order of the code.
async function ask(operation: StoreFrame["operation"], key: string, json = "null"): Promise<unknown> {
  unanswered++;
  const { promise, resolve } = Promise.withResolvers<void>();
  const before = lastCall;
  lastCall = promise;
  try {
    await before;
    const fields = `"operation":"${operation}","key":${stringify(key)},"value":${json}`;
    const answer = await callHost("__store__", fields);
    if (answer.type === "__tool_result__") return answer.result;
    throw refusalError(answer, (message) => new Error(message));
  } finally {
    resolve();
    if (--unanswered === 0) allAnswered();
  }
}

function checked(key: string): string {
  if (typeof key !== "string") throw new TypeError(`A key of the store must be a string, not ${typeof key}`);
  if (key.length > MAX_KEY) throw new LimitError(`A key of the store has at most ${MAX_KEY} characters`);
  return key.toWellFormed();
}
