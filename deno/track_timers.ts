type Timers = Record<string, (...values: any[]) => unknown>;

const KINDS = ["Timeout", "Interval", "Immediate"];

/**
 * Replace the functions that set timers by ones that remember them. Returns what ends all timers that were set since
 * the last time: those of one signal must not go off in the next.
 */
export function trackTimers(): () => void {
  const timers = globalThis as unknown as Timers;
  let ends: (() => unknown)[] = [];
  for (const kind of KINDS) {
    const { [`set${kind}`]: set, [`clear${kind}`]: clear } = timers;
    timers[`set${kind}`] = (...values) => {
      const timer = set(...values);
      ends.push(() => clear(timer));
      return timer;
    };
  }
  return () => {
    if (ends.length === 0) return;
    for (const end of ends) end();
    ends = [];
  };
}
