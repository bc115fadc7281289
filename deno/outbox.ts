import { beyond } from "./beyond.ts";
import { LimitError } from "./limit_error.ts";
import type { ResideFrame } from "./protocol.ts";
import { MAX_VALUES_IN_CALL, toJson } from "./to_json.ts";

const TYPE = /^[a-z][a-z0-9_.]{0,63}$/;
const matches = TYPE.test.bind(TYPE);

/** What one signal emits. It is taken down when it is emitted; what comes after the signal has ended is dropped. */
export class Outbox {
  #limits: ResideFrame;
  #emitted: string[] = [];
  #isClosed = false;

  constructor(limits: ResideFrame) {
    this.#limits = limits;
  }

  emit = (type: string, data?: unknown): void => {
    if (this.#isClosed) return;
    if (typeof type !== "string" || !matches(type)) {
      throw new TypeError('Cannot emit: a type is a text of small letters, digits, "_" and ".", 64 at most');
    }
    const { max_emitted, max_signal_bytes } = this.#limits;
    if (this.#emitted.length >= max_emitted) {
      throw new LimitError(`Cannot emit "${type}": one signal may emit at most ${max_emitted}`);
    }
    const json = toJson(data, `emit "${type}" with`, "data", MAX_VALUES_IN_CALL);
    const bytes = beyond(json, max_signal_bytes);
    if (bytes > 0) {
      throw new LimitError(
        `Cannot emit "${type}": its data has ${bytes} bytes, more than ${max_signal_bytes}`,
      );
    }
    this.#emitted.push(`["${type}",${json}]`);
  };

  /** Take the result of a function down: it is what a call of it emits. */
  give(result: unknown): void {
    if (this.#isClosed) return;
    const json = toJson(result, "return", "result", MAX_VALUES_IN_CALL);
    const most = this.#limits.max_signal_bytes;
    const bytes = beyond(json, most);
    if (bytes > 0) throw new LimitError(`Cannot return a result of ${bytes} bytes, more than ${most}`);
    this.#emitted.push(`["result",${json}]`);
  }

  /** End it; return all of it as JSON. */
  close(): string {
    this.#isClosed = true;
    return `[${this.#emitted.join()}]`;
  }
}
