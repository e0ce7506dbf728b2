const FIRST_MS = 200;
const LONGEST_MS = 10_000;

/** Full jitter: any time up to a bound that doubles with each failure. `attempt` counts from 0. */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** attempt);

/** No longer is believed of a `Retry-After`: an hour. The call itself waits no longer than its deadline. */
const RETRY_AFTER_MS_MAX = 3_600_000;

/** `Retry-After` in milliseconds (RFC 9110, section 10.2.3), in seconds or as a date; null when there is none. */
export function retryAfterMs(headers: Headers): number | null {
  const value = headers.get('retry-after');
  if (value === null) return null;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), RETRY_AFTER_MS_MAX);
}
