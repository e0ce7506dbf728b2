/** No receiver puts a delivery off for longer. */
const RETRY_AFTER_MS_MAX = 24 * 60 * 60 * 1000;

/**
 * How long a receiver wants to be left alone, in milliseconds: the header Retry-After, in seconds or as a date (RFC 9110,
 * section 10.2.3). null when it says nothing that can be understood.
 */
export function readRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  const text = value.trim();
  const afterMs = /^\d{1,15}$/.test(text) ? Number(text) * 1000 : dateOf(text) - nowMs;
  return Number.isNaN(afterMs) ? null : Math.min(Math.max(afterMs, 0), RETRY_AFTER_MS_MAX);
}

/**
 * Every form of an HTTP date names a weekday first; Date.parse alone would take much else for a date. The oldest form
 * names no zone, and means UTC as the others do.
 */
function dateOf(text: string): number {
  if (!/^[A-Z][a-z]{2,8},? /.test(text)) return Number.NaN;
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
}
