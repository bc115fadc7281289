import type { ErrorFrame, Phase } from "./protocol.ts";

const MAX_MESSAGE = 4096;
const MAX_STACK = 16 * 1024;

/** Put whatever was thrown into a frame. Getters that throw, and things that are not errors, are survived. */
export function describeError(thrown: unknown, phase: Phase): ErrorFrame {
  const isObject = typeof thrown === "object" && thrown !== null;
  const name = isObject ? textOf(() => (thrown as Error).name) : undefined;
  const message = isObject ? textOf(() => (thrown as Error).message) : undefined;
  return {
    type: "__error__",
    phase,
    name: (name ?? "Error").slice(0, 100),
    message: (message ?? inspected(thrown)).slice(0, MAX_MESSAGE),
    stack: (isObject ? textOf(() => (thrown as Error).stack) ?? "" : "").slice(0, MAX_STACK),
  };
}

function textOf(get: () => unknown): string | undefined {
  try {
    const text = get();
    return typeof text === "string" ? text.toWellFormed() : undefined;
  } catch {
    return undefined;
  }
}

function inspected(thrown: unknown): string {
  try {
    return `a thrown value: ${Deno.inspect(thrown, { depth: 2, strAbbreviateSize: 1000 })}`
      .toWellFormed();
  } catch {
    return "a thrown value that cannot be shown";
  }
}
