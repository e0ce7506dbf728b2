const WESTERN_INDONESIA_TIME_MS = 7 * 60 * 60 * 1000;

/** X-TIMESTAMP: `yyyy-MM-ddTHH:mm:ssTZD` in the banks' own zone, which keeps no summer time. */
export const snapTimestamp = (now: number): string =>
  `${new Date(now + WESTERN_INDONESIA_TIME_MS).toISOString().slice(0, 19)}+07:00`;
