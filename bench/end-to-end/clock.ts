/**
 * Milliseconds since 1970, finer than Date.now(): what different processes of one machine, PostgreSQL among them, can be
 * held against each other by.
 */
export const wallMs = (): number => performance.timeOrigin + performance.now();

const DRIFT_MS_MAX = 2;

/** The origin is fixed when a process starts. @throws Error when the machine's clock has been moved since. */
export function requireSteadyClock(): void {
  const driftMs = Math.abs(wallMs() - Date.now());
  if (driftMs > DRIFT_MS_MAX)
    throw new Error(`the clock of the machine was moved by ${Math.round(driftMs)} ms meanwhile`);
}
