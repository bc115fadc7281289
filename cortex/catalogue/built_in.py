"""TypeScript declarations of the globals that code has beside its tools, for `core.describe`. A module of its own: the
description of `core.execute` has a limit of tokens and only mentions them."""

from __future__ import annotations

BUILT_IN = {
    "store": """\
/** JSON values that the host keeps for this conversation, from run to run. What a failed run set is not kept. */
declare const store: {
  get(key: string): Promise<any>; // undefined if there is none
  set(key: string, value: any): Promise<void>;
  delete(key: string): Promise<boolean>;
  keys(): Promise<string[]>;
};""",
    "display": """\
/** Shows the user and you a picture (PNG or JPEG bytes, SVG text), a table (rows of objects), Markdown, or what a tool
 * gave as { type, mimeType, data }. Returns at once; throws for what cannot be shown. */
declare function display(
  value: Uint8Array | ArrayBuffer | string | object[] | { type: string; mimeType: string; data: Uint8Array },
  options?: { title?: string; type?: "png" | "jpeg" | "svg" | "table" | "markdown" }, // type: for text, svg or markdown
): void;""",
    "files": """\
/** Only where the owner has given a folder: it is /workspace and the current folder. Paths lead nowhere else. All
 * changes of a run are kept together, or none; the reply tells them. */
declare namespace Deno {
  function readTextFile(path: string): Promise<string>;
  function readFile(path: string): Promise<Uint8Array>;
  function writeTextFile(path: string, text: string, options?: { append?: boolean }): Promise<void>;
  function writeFile(path: string, data: Uint8Array, options?: { append?: boolean }): Promise<void>;
  function readDir(path: string): AsyncIterable<{ name: string; isFile: boolean; isDirectory: boolean }>;
  function stat(path: string): Promise<{ isFile: boolean; isDirectory: boolean; size: number }>;
  function mkdir(path: string, options?: { recursive?: boolean }): Promise<void>;
  function remove(path: string, options?: { recursive?: boolean }): Promise<void>;
  function rename(from: string, to: string): Promise<void>;
  function copyFile(from: string, to: string): Promise<void>;
}""",
}
"""Declarations by the name that `core.describe` is asked for. A tool of the same name goes before."""
