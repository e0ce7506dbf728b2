import type { IncomingHttpHeaders } from 'node:http';
import { parseInstant } from '../../domain/instant.ts';
import { malformed, missing, unauthorized } from './response-codes.ts';

/** A header as SNAP spells it, and the form of its value. */
interface HeaderRule {
  readonly name: string;
  readonly form: RegExp;
  /** The form, for the message. */
  readonly is: string;
}

/** Of times, for messages. */
export const TIME_FORM = 'a time with a time zone, such as 2026-11-21T11:32:26+07:00';

/** A text of 1 to `lengthMax` characters of ASCII, without spaces. */
const visible = (lengthMax: number): Pick<HeaderRule, 'form' | 'is'> => ({
  form: new RegExp(`^[!-~]{1,${lengthMax}}$`),
  is: `1 to ${lengthMax} characters of ASCII, without spaces`,
});

/** ASPI has no length for it: the longest is the hex of a signature by an RSA key of 8,192 bits. */
const SIGNATURE: HeaderRule = { name: 'X-SIGNATURE', form: /^[A-Za-z0-9+/]{1,2048}={0,2}$/, is: 'base64 or hex' };
const TIMESTAMP: HeaderRule = { name: 'X-TIMESTAMP', form: /^[0-9T:.Z+-]{1,40}$/, is: TIME_FORM };

/** Of a client without a setting of its own; docs/snap-clients.md. */
export const EXTERNAL_ID_FORM = '1 to 36 digits';

/** Of the token request. */
export const TOKEN_HEADERS: readonly HeaderRule[] = [TIMESTAMP, { name: 'X-CLIENT-KEY', ...visible(64) }, SIGNATURE];

/** Of every other request. */
export const SERVICE_HEADERS: readonly HeaderRule[] = [
  TIMESTAMP,
  SIGNATURE,
  { name: 'X-PARTNER-ID', ...visible(36) },
  // What it may hold depends on the client, which is not known yet.
  { name: 'X-EXTERNAL-ID', form: /^[ -~]{1,64}$/, is: EXTERNAL_ID_FORM },
  { name: 'CHANNEL-ID', ...visible(5) },
];

/** @throws SnapRejection for the first header that is missing or malformed */
export function requireHeaders(headers: IncomingHttpHeaders, rules: readonly HeaderRule[]): void {
  for (const { name, form, is } of rules) {
    const value = headerOf(headers, name);
    if (value === '') throw missing(name);
    if (!form.test(value)) throw malformed(name, is);
  }
}

/** The value of a header; empty where it is missing. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string =>
  String(headers[name.toLowerCase()] ?? '');

/**
 * X-TIMESTAMP in milliseconds since 1970: RFC 3339, with or without milliseconds, in any zone.
 * @throws SnapRejection when it is malformed
 */
export function timestampMsOf(headers: IncomingHttpHeaders): number {
  const utc = parseInstant(headerOf(headers, 'X-TIMESTAMP'));
  if (utc === null) throw malformed(TIMESTAMP.name, TIMESTAMP.is);
  return Date.parse(utc);
}

/** @throws SnapRejection when the timestamp is more than `clockSkewSeconds` before or after `nowMs` */
export function requireRecentTimestamp(timestampMs: number, nowMs: number, clockSkewSeconds: number): void {
  if (Math.abs(nowMs - timestampMs) > clockSkewSeconds * 1000) {
    throw unauthorized(`X-TIMESTAMP is more than ${clockSkewSeconds} s off`);
  }
}
