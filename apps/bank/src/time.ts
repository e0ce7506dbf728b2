// Jakarta is seven hours ahead of UTC and has no daylight saving time.
const OFFSET_MS = 7 * 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A SNAP timestamp in Jakarta time, such as `2026-11-21T10:30:24+07:00`. */
export function formatJakartaTime(timeMs: number): string {
  return `${new Date(timeMs + OFFSET_MS).toISOString().slice(0, 19)}+07:00`;
}

/** Number of the calendar day in Jakarta, counted from 1970; for comparison with another day only. */
export function jakartaDay(timeMs: number): number {
  return Math.floor((timeMs + OFFSET_MS) / DAY_MS);
}

const TIMESTAMP =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

// Every month has at least this many days; a later day of the month has to be looked up.
const DAYS_IN_EVERY_MONTH = 28;

/** Reads X-TIMESTAMP, `yyyy-MM-ddTHH:mm:ssTZD` without fractions, as milliseconds since 1970; null if malformed. */
export function parseTimestamp(text: string): number | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const [, year, month, day] = match;
  // Date.parse reads 30 February as 2 March.
  if (Number(day) > DAYS_IN_EVERY_MONTH && Number(day) > daysInMonth(Number(year), Number(month))) return null;
  return Date.parse(text);
}

const WITH_MILLISECONDS = /\.\d{3}Z$/;

/** The same for the format of `Date.prototype.toISOString`, and no other: `2026-11-21T03:30:24.123Z`. */
export function parseUtcTimestamp(text: string): number | null {
  if (!WITH_MILLISECONDS.test(text)) return null;
  return parseTimestamp(text.replace(WITH_MILLISECONDS, 'Z')) === null ? null : Date.parse(text);
}

/** `month` counts from 1. Day 0 of the next month is the last day of this one. */
function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}
