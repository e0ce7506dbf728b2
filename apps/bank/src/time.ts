// Jakarta is seven hours ahead of UTC and has no summer time.
const OFFSET_MS = 7 * 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** SNAP's timestamp in Jakarta's time, such as `2026-11-21T10:30:24+07:00`. */
export function formatJakartaTime(timeMs: number): string {
  return `${new Date(timeMs + OFFSET_MS).toISOString().slice(0, 19)}+07:00`;
}

/** Number of the calendar day in Jakarta; the number itself means nothing, only its change. */
export function jakartaDay(timeMs: number): number {
  return Math.floor((timeMs + OFFSET_MS) / DAY_MS);
}

const TIMESTAMP =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;

// Every month has this many days; a later day has to be looked up.
const DAYS_IN_EVERY_MONTH = 28;

/** Reads X-TIMESTAMP, `yyyy-MM-ddTHH:mm:ssTZD` without fractions, as milliseconds since 1970; null if it is none. */
export function parseTimestamp(text: string): number | null {
  const match = TIMESTAMP.exec(text);
  if (match === null) return null;
  const [, year, month, day] = match;
  // Date.parse takes 30 February for 2 March.
  if (Number(day) > DAYS_IN_EVERY_MONTH && Number(day) > daysInMonth(Number(year), Number(month))) return null;
  return Date.parse(text);
}

const WITH_MILLISECONDS = /\.\d{3}Z$/;

/** The same for the form that `Date.prototype.toISOString` writes, and no other: `2026-11-21T03:30:24.123Z`. */
export function parseUtcTimestamp(text: string): number | null {
  if (!WITH_MILLISECONDS.test(text)) return null;
  return parseTimestamp(text.replace(WITH_MILLISECONDS, 'Z')) === null ? null : Date.parse(text);
}

/** `month` counts from 1; day 0 of the month after it is its last day. */
function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}
