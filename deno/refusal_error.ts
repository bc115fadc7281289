import { LimitError } from "./limit_error.ts";
import type { ToolErrorFrame } from "./protocol.ts";

const { PermissionDenied } = Deno.errors;
const assign = Object.assign;

/** The error for what the host refuses or cannot do. Code may look at `code` and `retryable` of every one. */
export function refusalError(
  { error, code, retryable }: ToolErrorFrame,
  other: (message: string, code: string) => Error,
): Error {
  const made = code === "denied"
    ? new PermissionDenied(error)
    : code === "limit" || code === "LimitError"
    ? new LimitError(error)
    : other(error, code);
  return assign(made, { code, retryable });
}
