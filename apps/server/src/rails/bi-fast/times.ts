/** The hub is in Jakarta, which keeps no summer time. */
const WESTERN_INDONESIA_TIME_MS = 7 * 60 * 60 * 1000;

/** `CreDtTm`: the hub's local time, `yyyy-MM-ddTHH:mm:ss` without a zone. */
export const timeAtHub = (atMs: number): string =>
  new Date(atMs + WESTERN_INDONESIA_TIME_MS).toISOString().slice(0, 19);

/** The date in identifiers, `yyyyMMdd`: the hub's day, because serials are unique within it. */
export const dayAtHub = (atMs: number): string => timeAtHub(atMs).slice(0, 10).replaceAll('-', '');

/** `CreDt` of the header: UTC, `yyyy-MM-ddTHH:mm:ssZ` (ISO 20022 head.001, ISONormalisedDateTime). */
export const utcTime = (atMs: number): string => `${new Date(atMs).toISOString().slice(0, 19)}Z`;
