import { callHost } from "./call_host.ts";
import { MCPToolError } from "./mcp_tool_error.ts";
import type { LentTool, ToolErrorFrame } from "./protocol.ts";
import { reviveBytes } from "./revive_bytes.ts";
import { MAX_VALUES_IN_CALL, toJson } from "./to_json.ts";
import { ToolError } from "./tool_error.ts";
import { visibleBytes } from "./visible_bytes.ts";

const stringify = JSON.stringify;

/** Ask the host to run a lent tool. The answer comes as the promise's value or as a ToolError. */
export async function callTool(lent: LentTool, params: unknown): Promise<unknown> {
  const { name } = lent;
  if (visibleBytes(params) !== undefined) {
    const message =
      `tools.${name} takes one object with its arguments, not bytes: give them a name, as in { data: bytes }`;
    throw errorOf(lent, { error: message, code: "invalid_arguments", retryable: false });
  }
  const json = toJson(params ?? {}, `call ${name} with`, "arguments", MAX_VALUES_IN_CALL, "base64");
  const answer = await callHost("__tool_call__", `"name":${stringify(name)},"params":${json}`);
  if (answer.type === "__tool_result__") return reviveBytes(answer);
  throw errorOf(lent, answer);
}

function errorOf(
  { name, server, tool }: LentTool,
  { error, code, retryable }: Omit<ToolErrorFrame, "type" | "call_id">,
): ToolError {
  if (server === undefined) return new ToolError(name, error, code, retryable);
  return new MCPToolError(server, tool ?? name, error, code, retryable);
}
