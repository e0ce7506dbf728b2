import type { JsonObject } from '../http.ts';
import { formatJakartaTime } from '../time.ts';

/** A message as received: a JSON object. */
export type Message = JsonObject;

/** The value at a path of names and array indexes joined by dots, or undefined. */
export function valueAt(message: Message, path: string): unknown {
  let value: unknown = message;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The text at a path; an empty text if the value is not a string. */
export function textAt(message: Message, path: string): string {
  const value = valueAt(message, path);
  return typeof value === 'string' ? value : '';
}

const UTC_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
const LOCAL_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/;

/** `yyyy-MM-ddTHH:mm:ssZ` as milliseconds since 1970; NaN if malformed. */
export const parseUtcTime = (text: string): number => (UTC_TIME.test(text) ? Date.parse(text) : Number.NaN);

/** `yyyy-MM-ddTHH:mm:ss` in Jakarta as milliseconds since 1970; NaN if malformed. */
export const parseLocalTime = (text: string): number =>
  LOCAL_TIME.test(text) ? Date.parse(`${text}+07:00`) : Number.NaN;

export const localTime = (timeMs: number): string => formatJakartaTime(timeMs).slice(0, 19);

/** The day in Jakarta, `yyyyMMdd`. */
export const localDay = (timeMs: number): string => localTime(timeMs).slice(0, 10).replaceAll('-', '');

export const utcTime = (timeMs: number): string => `${new Date(timeMs).toISOString().slice(0, 19)}Z`;
