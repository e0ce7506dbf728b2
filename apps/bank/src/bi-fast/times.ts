import { formatJakartaTime } from '../jakarta-time.ts';

const UTC_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const LOCAL_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/;

/** `yyyy-MM-ddTHH:mm:ssZ` as milliseconds since 1970; NaN if it is none. */
export const parseUtcTime = (text: string): number => (UTC_TIME.test(text) ? Date.parse(text) : Number.NaN);

/** `yyyy-MM-ddTHH:mm:ss` in Jakarta, likewise. */
export const parseLocalTime = (text: string): number =>
  LOCAL_TIME.test(text) ? Date.parse(`${text}+07:00`) : Number.NaN;

export const localTime = (timeMs: number): string => formatJakartaTime(timeMs).slice(0, 19);

/** The day in Jakarta, `yyyyMMdd`. */
export const localDay = (timeMs: number): string => localTime(timeMs).slice(0, 10).replaceAll('-', '');

export const utcTime = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
