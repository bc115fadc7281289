import { MCPToolError } from "./mcp_tool_error.ts";
import type { ErrorFrame, Phase } from "./protocol.ts";

const MAX_NAME = 100;
const MAX_MESSAGE = 4096;
const MAX_STACK = 16 * 1024;

/** Put whatever was thrown into a frame. Getters that throw, and things that are not errors, are survived. */
export function describeError(thrown: unknown, phase: Phase): ErrorFrame {
  const isObject = typeof thrown === "object" && thrown !== null;
  const name = isObject ? textOf(() => (thrown as Error).name) : undefined;
  const message = isObject ? textOf(() => messageOf(thrown as Error)) : undefined;
  return {
    type: "__error__",
    phase,
    name: cut(name ?? "Error", MAX_NAME),
    message: cut(message ?? inspected(thrown), MAX_MESSAGE),
    stack: cut((isObject ? textOf(() => (thrown as Error).stack) : undefined) ?? "", MAX_STACK),
  };
}

// Who catches it has `server` and `tool`; who does not has the message alone.
function messageOf(thrown: Error): unknown {
  if (!(thrown instanceof MCPToolError)) return thrown.message;
  return `Tool "${thrown.tool}" of MCP server "${thrown.server}": ${thrown.message}`;
}

// Made well-formed last: the cut may fall inside a pair, and the host refuses half of one.
function cut(text: string, maxCharacters: number): string {
  return text.slice(0, maxCharacters).toWellFormed();
}

function textOf(get: () => unknown): string | undefined {
  try {
    const text = get();
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

function inspected(thrown: unknown): string {
  try {
    return `a thrown value: ${Deno.inspect(thrown, { depth: 2, strAbbreviateSize: 1000 })}`;
  } catch {
    return "a thrown value that cannot be shown";
  }
}
