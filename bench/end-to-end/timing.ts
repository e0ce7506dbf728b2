import { setTimeout as wait } from 'node:timers/promises';

/**
 * Milliseconds since 1970, finer than Date.now(). Times of different processes on one machine, including PostgreSQL,
 * can be compared with each other.
 */
export const wallMs = (): number => performance.timeOrigin + performance.now();

const DRIFT_MS_MAX = 2;

/** The time origin is fixed when a process starts. @throws Error when the machine's clock was changed after that. */
export function requireSteadyClock(): void {
  const driftMs = Math.abs(wallMs() - Date.now());
  if (driftMs > DRIFT_MS_MAX)
    throw new Error(`the machine's clock was changed by ${Math.round(driftMs)} ms during the run: run it again`);
}

const POLL_MS = 100;

/** Waits until the condition holds. @throws Error when it does not hold within `timeoutMs`. */
export async function until(
  what: string,
  timeoutMs: number,
  signal: AbortSignal,
  condition: () => Promise<boolean>,
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) throw new Error(`timeout after ${timeoutMs} ms, waiting until ${what}`);
    await wait(POLL_MS, undefined, { signal });
  }
}

/** With more calls in flight, the service does not keep up, and the next call waits. */
const IN_FLIGHT_MAX = 64;
/** Items that are not started within this multiple of the planned time are skipped. */
const OVERTIME_FACTOR = 1.5;

export interface RateResult<Item> {
  /** The items that were started; fewer than requested where the rate was not reached. */
  readonly items: Item[];
  readonly perSecond: number;
}

/**
 * Calls `act` for one item after another at this rate, without waiting for earlier calls. Resolves when all have ended.
 */
export async function atRate<Item>(
  items: readonly Item[],
  perSecond: number,
  signal: AbortSignal,
  act: (item: Item) => Promise<unknown>,
): Promise<RateResult<Item>> {
  const startedMs = performance.now();
  const deadlineMs = startedMs + ((items.length * 1000) / perSecond) * OVERTIME_FACTOR;
  const inFlight = new Set<Promise<void>>();
  const started: Item[] = [];
  let failure: { readonly error: unknown } | undefined;
  for (const item of items) {
    const earlyMs = startedMs + (started.length * 1000) / perSecond - performance.now();
    if (earlyMs > 0) await wait(earlyMs, undefined, { signal });
    if (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight);
    if (failure !== undefined || performance.now() > deadlineMs) break;
    started.push(item);
    const call: Promise<void> = act(item)
      .then(
        () => {},
        (error: unknown) => {
          failure ??= { error };
        },
      )
      .finally(() => inFlight.delete(call));
    inFlight.add(call);
  }
  await Promise.all(inFlight);
  if (failure !== undefined) throw failure.error;
  return { items: started, perSecond: started.length / ((performance.now() - startedMs) / 1000) };
}
