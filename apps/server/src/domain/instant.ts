/** How far Jakarta's time is ahead of UTC. It has no daylight saving time. */
export const JAKARTA_OFFSET_MS = 7 * 60 * 60 * 1000;

const DAY_MS = 24 * 60 * 60 * 1000;

/** The day in Jakarta as a number that grows by one with each day. `ms` is UTC, since 1970. */
export const jakartaDayOf = (ms: number): number => Math.floor((ms + JAKARTA_OFFSET_MS) / DAY_MS);

/** When that day begins, in milliseconds since 1970. */
export const jakartaDayStartMs = (day: number): number => day * DAY_MS - JAKARTA_OFFSET_MS;

const HOUR_MS = 60 * 60 * 1000;
const MINUTE_MS = 60 * 1000;

/** Later times cannot be written with a year of four digits. */
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

// Of texts as `parseInstant` returns them: `2026-11-21T04:32:26.123Z`. `Date` reads and writes them at several times
// the cost, which a feed would pay for each line.

/** The time that is `ms` later; the last one that can be written if that is earlier. */
export function addMs(instant: string, ms: number): string {
  const ofDay = msOfDay(instant) + ms;
  if (ofDay >= 0 && ofDay < DAY_MS && Number.isInteger(ms)) return instant.slice(0, 11) + timeText(ofDay);
  return new Date(Math.min(Date.parse(instant) + ms, LAST_MS)).toISOString();
}

/** In milliseconds; negative when `end` is before `start`. */
export const msBetween = (start: string, end: string): number =>
  start.slice(0, 10) === end.slice(0, 10) ? msOfDay(end) - msOfDay(start) : Date.parse(end) - Date.parse(start);

const msOfDay = (instant: string): number =>
  digits(instant, 11, 13) * HOUR_MS +
  digits(instant, 14, 16) * MINUTE_MS +
  digits(instant, 17, 19) * 1_000 +
  digits(instant, 20, 23);

function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let index = start; index < end; index += 1) value = value * 10 + text.charCodeAt(index) - DIGIT_ZERO;
  return value;
}

const DIGIT_ZERO = 0x30;

function timeText(msOfDay: number): string {
  const seconds = Math.floor(msOfDay / 1_000);
  const [hour, minute] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const fraction = String(msOfDay % 1_000).padStart(3, '0');
  return `${twoDigits(hour)}:${twoDigits(minute)}:${twoDigits(seconds % 60)}.${fraction}Z`;
}

const twoDigits = (value: number): string => (value < 10 ? `0${value}` : String(value));

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const FOUR_DIGIT_YEAR = /^(?!0000)\d{4}-/;

/** A time as it is written here; of those in February, the first 28 days. */
const CANONICAL = new RegExp(
  String.raw`^(?!0000)\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)` +
    String.raw`|02-(?:0[1-9]|1\d|2[0-8]))T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z$`,
);

/** RFC 3339 in, ISO 8601 UTC with milliseconds out. Finer fractions are truncated. null for anything else. */
export function parseInstant(text: string): string | null {
  // Nearly every core sends this form, which stays the same. Temporal costs far more, and reads every other form.
  if (CANONICAL.test(text)) return text;
  const utc = RFC_3339.test(text) ? toUtc(text) : null;
  // The zone can move the first and the last day out of the years that ISO 8601 and PostgreSQL write with four digits.
  return utc !== null && FOUR_DIGIT_YEAR.test(utc) ? utc : null;
}

function toUtc(text: string): string | null {
  try {
    // Temporal throws for days that do not exist; Date would move them into the next month.
    return new Date(Temporal.Instant.from(text).epochMilliseconds).toISOString();
  } catch {
    return null;
  }
}
