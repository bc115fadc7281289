import { callTool } from "./call_tool.ts";
import type { LentTool } from "./protocol.ts";

type Group = Record<string, unknown>;

/**
 * Build the `tools` object. It has no prototype, so that no name means anything but a lent tool; and it is frozen,
 * so that one part of the code cannot swap a tool under another. Other spellings are there and are not listed.
 */
export function lendTools(lent: LentTool[]): object {
  const tools: Group = Object.create(null);
  const groups: Group[] = [tools];
  const put = (path: string[], call: unknown, enumerable: boolean): void => {
    let group = tools;
    for (const part of path.slice(0, -1)) {
      if (group[part] === undefined) {
        groups.push(Object.create(null));
        Object.defineProperty(group, part, { value: groups.at(-1), enumerable });
      }
      group = group[part] as Group;
    }
    Object.defineProperty(group, path[path.length - 1], { value: call, enumerable });
  };
  const calls = lent.map((tool) => (params?: unknown) => callTool(tool, params));
  lent.forEach(({ path }, at) => put(path, calls[at], true));
  lent.forEach(({ aliases }, at) => aliases?.forEach((path) => put(path, calls[at], false)));
  groups.forEach(Object.freeze);
  return tools;
}
