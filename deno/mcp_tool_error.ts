import { ToolError } from "./tool_error.ts";

/** The error of a tool of an MCP server. `tool` is what the server calls it. */
export class MCPToolError extends ToolError {
  override name = "MCPToolError";

  constructor(
    readonly server: string,
    tool: string,
    message: string,
    code: string,
    retryable: boolean,
  ) {
    super(tool, message, code, retryable);
  }
}
