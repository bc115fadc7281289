/**
 * Whether the code may speak to the host. Always, but for a process that stays: between its signals nobody listens,
 * and what an earlier signal has left running goes unheard.
 */
export const pipe = { isOpen: true };
