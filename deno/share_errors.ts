import { MCPToolError } from "./mcp_tool_error.ts";
import { ToolError } from "./tool_error.ts";

/** Make the classes of tool errors globals, as those of the language are: not listed, for `instanceof`. */
export function shareErrors(): void {
  for (const value of [ToolError, MCPToolError]) {
    Object.defineProperty(globalThis, value.name, { value, configurable: true, writable: true });
  }
}
