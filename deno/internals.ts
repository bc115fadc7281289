/**
 * What is used of Deno beyond its documented interface, in one place: the public `console` cannot be told where to
 * print, and nothing public says whether the event loop has anything left to do.
 */

interface Core {
  /** Whether a timer, a port or an operation under way could still make something happen. */
  eventLoopHasMoreWork(): boolean;
  setHasTickScheduled(isScheduled: boolean): void;
  /** Call back when all promise reactions are done, before the event loop turns. */
  queueNextTick(tick: { callback: () => void; asyncId: number; triggerAsyncId: number }): void;
}

interface Internals {
  core: Core;
  Console: new (print: (text: string, level: number) => void) => Console;
}

const deno = Deno as unknown as { internal: symbol } & Record<symbol, Internals>;

export const internals: Internals = deno[deno.internal];
