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
