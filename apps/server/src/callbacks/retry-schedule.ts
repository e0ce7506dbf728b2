const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * The delay of each attempt after the attempt before it; the first is sent at once. Follows the proposal of Standard
 * Webhooks ("Deliverability and reliability"): a receiver that is down for three days misses nothing.
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

/** Spreads the retries of deliveries that failed together. */
const JITTER = 0.1;

/** A longer Retry-After is shortened to this. */
const RETRY_AFTER_MS_MAX = 24 * HOUR_MS;

/**
 * The delay after this attempt (from 1) has failed, in milliseconds; null when it was the last one. `random` is from 0
 * to 1. The delay is never shorter than the receiver asked for.
 */
export function delayAfterMs(attempt: number, retryAfterMs: number | null, random: number): number | null {
  const delayMs = ATTEMPT_DELAYS_MS[attempt];
  if (delayMs === undefined) return null;
  return Math.max(Math.round(delayMs * (1 + JITTER * (2 * random - 1))), retryAfterMs ?? 0);
}

/**
 * Reads the header Retry-After, in seconds or as a date (RFC 9110, section 10.2.3). Returns milliseconds from `nowMs`,
 * at most a day; null for a header that is missing or invalid.
 */
export function readRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const afterMs = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : parseHttpDate(text) - nowMs;
  return Number.isNaN(afterMs) ? null : Math.min(Math.max(afterMs, 0), RETRY_AFTER_MS_MAX);
}

/**
 * Every form of an HTTP date begins with a weekday; Date.parse alone accepts many texts that are no HTTP date. The
 * oldest form names no time zone and means UTC, as the others do.
 */
function parseHttpDate(text: string): number {
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
