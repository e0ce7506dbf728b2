const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * How long after the attempt before it each attempt comes; the first comes at once. As Standard Webhooks proposes
 * ("Deliverability and reliability"): a receiver that is down for three days misses nothing.
 */
export const ATTEMPT_DELAYS_MS: readonly number[] = [
  0,
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
];

/** What failed together shall not come back together. */
const JITTER = 0.1;

/**
 * How long to wait after this attempt (from 1) has failed; null when it was the last. `random` is from 0 to 1. Never
 * sooner than the receiver asked for.
 */
export function delayAfterMs(attempt: number, retryAfterMs: number | null, random: number): number | null {
  const delayMs = ATTEMPT_DELAYS_MS[attempt];
  if (delayMs === undefined) return null;
  return Math.max(Math.round(delayMs * (1 + JITTER * (2 * random - 1))), retryAfterMs ?? 0);
}
