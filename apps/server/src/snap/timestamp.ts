import { JAKARTA_OFFSET_MS } from '../domain/instant.ts';

/** X-TIMESTAMP: `yyyy-MM-ddTHH:mm:ssTZD` in the banks' own zone, which has no daylight saving time. */
export const snapTimestamp = (now: number): string =>
  `${new Date(now + JAKARTA_OFFSET_MS).toISOString().slice(0, 19)}+07:00`;
