import { writeLog } from "./capture_console.ts";

const decoder = new TextDecoder();

/**
 * Keep honest code off the pipes that carry the frames. This is courtesy and not the wall: the host treats every
 * byte from this process as the agent's own words.
 */
export function harden(): void {
  define(Deno, "stdin", {
    read: () => Promise.resolve(null),
    readSync: () => null,
    isTerminal: () => false,
    get readable() {
      return new Blob([]).stream();
    },
  });
  for (const [name, level] of [["stdout", "log"], ["stderr", "error"]] as const) {
    const writeSync = (bytes: Uint8Array) => {
      writeLog(level, decoder.decode(bytes));
      return bytes.length;
    };
    define(Deno, name, {
      writeSync,
      write: (bytes: Uint8Array) => Promise.resolve(writeSync(bytes)),
      isTerminal: () => false,
    });
  }
}

function define(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true });
}
