import { MCPToolError } from "./mcp_tool_error.ts";
import { shareErrors } from "./share_errors.ts";
import { assertEquals } from "./testing.ts";
import { ToolError } from "./tool_error.ts";

Deno.test("the classes of tool errors are globals that nobody stumbles over", () => {
  shareErrors();
  const found = globalThis as unknown as Record<string, unknown>;
  assertEquals([found.ToolError === ToolError, found.MCPToolError === MCPToolError], [true, true]);
  assertEquals(Object.keys(globalThis).filter((name) => name.endsWith("ToolError")), []);
});
