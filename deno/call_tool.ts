import { callHost } from "./call_host.ts";
import { MAX_VALUES_IN_CALL, toJson } from "./to_json.ts";
import { ToolError } from "./tool_error.ts";

const stringify = JSON.stringify;

/** Ask the host to run a lent tool. The answer comes as the promise's value or as a ToolError. */
export async function callTool(name: string, params: unknown): Promise<unknown> {
  const json = toJson(params ?? {}, `call ${name} with`, "arguments", MAX_VALUES_IN_CALL);
  const answer = await callHost("__tool_call__", `"name":${stringify(name)},"params":${json}`);
  if (answer.type === "__tool_result__") return answer.result;
  throw new ToolError(name, answer.error, answer.code, answer.retryable);
}
