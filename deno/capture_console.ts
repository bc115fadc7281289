import { internals } from "./internals.ts";
import { pipe } from "./pipe.ts";
import type { LogLevel } from "./protocol.ts";
import { writeFrame } from "./write_frame.ts";

// Deno's console counts: 0 debug, 1 log and info, 2 warn, 3 error, 4 trace.
const LEVELS: LogLevel[] = ["debug", "log", "warn", "error", "error"];

let maxCharacters = 64 * 1024;

/** Set how much text one call may send. The host counts the total. */
export function limitConsole(maxOutputBytes: number): void {
  maxCharacters = maxOutputBytes;
}

/**
 * Replace `console` by one of Deno's own that prints into log frames: every method and every format works as
 * people know it, and nothing but frames goes to stdout.
 */
export function captureConsole(): void {
  let asInfo = false;
  const captured = new internals.Console((text, level) =>
    writeLog(asInfo ? "info" : LEVELS[level] ?? "log", text)
  );
  const log = captured.log;
  captured.info = (...values: unknown[]) => {
    asInfo = true;
    try {
      log(...values);
    } finally {
      asInfo = false;
    }
  };
  globalThis.console = captured;
}

/** Send one log frame. A text longer than all output may be is cut here, before it is copied. */
export function writeLog(level: LogLevel, message: string): void {
  const text = message.endsWith("\n") ? message.slice(0, -1) : message;
  if (!pipe.isOpen || (text === "" && message !== "\n")) return;
  // One character over the limit is enough for the host to see that the limit was passed.
  writeFrame({ type: "__output__", level, data: text.slice(0, maxCharacters + 1).toWellFormed() });
}
