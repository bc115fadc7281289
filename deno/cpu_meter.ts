// Kept from before the code could replace them, or its clock stand still.
const now = performance.now.bind(performance);
const usage = (Deno as unknown as { cpuUsage(): { user: number; system: number } }).cpuUsage;

// In less time than this nobody can compute much: what passes is taken for computed. To ask the system takes as long as
// a short signal.
const SHORT_MS = 1;

/** Measures what the process computes from one look to the next. The host checks the sum: code could change what is said. */
export class CpuMeter {
  #looked = now();
  #used = 0;
  #guessed_us = 0;

  /** Microseconds computed since the last look. */
  spent_us(): number {
    const before = this.#looked;
    this.#looked = now();
    const passed_us = (this.#looked - before) * 1000;
    if (passed_us < SHORT_MS * 1000) {
      this.#guessed_us += passed_us;
      return Math.round(passed_us);
    }
    const { user, system } = usage();
    const spent_us = user + system - this.#used - this.#guessed_us;
    this.#used = user + system;
    this.#guessed_us = 0;
    return Math.max(0, Math.round(spent_us));
  }
}
