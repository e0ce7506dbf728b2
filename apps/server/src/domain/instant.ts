/** How far Jakarta's time is ahead of UTC. It has no daylight saving time. */
export const JAKARTA_OFFSET_MS = 7 * 60 * 60 * 1000;

const DAY_MS = 24 * 60 * 60 * 1000;

/** The day in Jakarta as a number that grows by one with each day. `ms` is UTC, since 1970. */
export const jakartaDayOf = (ms: number): number => Math.floor((ms + JAKARTA_OFFSET_MS) / DAY_MS);

/** When that day begins, in milliseconds since 1970. */
export const jakartaDayStartMs = (day: number): number => day * DAY_MS - JAKARTA_OFFSET_MS;

const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
const FOUR_DIGIT_YEAR = /^(?!0000)\d{4}-/;

/** RFC 3339 in, ISO 8601 UTC with milliseconds out. Finer fractions are truncated. null for anything else. */
export function parseInstant(text: string): string | null {
  const utc = RFC_3339.test(text) ? toUtc(text) : null;
  // The zone can move the first and the last day out of the years that ISO 8601 and PostgreSQL write with four digits.
  return utc !== null && FOUR_DIGIT_YEAR.test(utc) ? utc : null;
}

/** The form in which times are written here. */
const CANONICAL_LENGTH = '2026-11-21T00:00:00.000Z'.length;

function toUtc(text: string): string | null {
  // A canonical time is the same afterwards. This costs less than Temporal, which reads every other form.
  if (text.length === CANONICAL_LENGTH && isCanonical(text)) return text;
  try {
    // Temporal throws for days that do not exist; Date would move them into the next month.
    return new Date(Temporal.Instant.from(text).epochMilliseconds).toISOString();
  } catch {
    return null;
  }
}

function isCanonical(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString() === text;
}
