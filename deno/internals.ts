/**
 * What is used of Deno beyond its documented interface, in one place. The public `setTimeout` would load Node's
 * timers and make every start half as long again; the public `console` cannot be told where to print.
 */

interface Core {
  createSystemTimer(callback: () => void, afterMs: number, keepsLoopAlive: boolean): unknown;
}

interface Internals {
  core: Core;
  Console: new (print: (text: string, level: number) => void) => Console;
}

const deno = Deno as unknown as { internal: symbol } & Record<symbol, Internals>;

export const internals: Internals = deno[deno.internal];
