import { callTool } from "./call_tool.ts";
import type { LentTool } from "./protocol.ts";

/**
 * Build the `tools` object. It has no prototype, so that no name means anything but a lent tool; and it is frozen,
 * so that one part of the code cannot swap a tool under another.
 */
export function lendTools(lent: LentTool[]): object {
  const tools = Object.create(null);
  for (const { path, name } of lent) {
    let group = tools;
    for (const part of path.slice(0, -1)) group = group[part] ??= Object.create(null);
    group[path[path.length - 1]] = (params?: unknown) => callTool(name, params);
  }
  for (const group of Object.values(tools)) Object.freeze(group);
  return Object.freeze(tools);
}
