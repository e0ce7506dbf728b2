import type { IncomingHttpHeaders } from 'node:http';
import { parseInstant } from '../../domain/instant.ts';
import { malformed, missing, unauthorized } from './response-codes.ts';

/** A header as SNAP spells it, and the form of its value. */
interface HeaderRule {
  readonly name: string;
  readonly form: RegExp;
}

/** ASPI has no length for it: the longest is the hex of a signature by an RSA key of 8,192 bits. */
const SIGNATURE: HeaderRule = { name: 'X-SIGNATURE', form: /^[A-Za-z0-9+/]{1,2048}={0,2}$/ };
const TIMESTAMP: HeaderRule = { name: 'X-TIMESTAMP', form: /^[0-9T:.Z+-]{1,40}$/ };

/** Of the token request. */
export const TOKEN_HEADERS: readonly HeaderRule[] = [
  TIMESTAMP,
  { name: 'X-CLIENT-KEY', form: /^[!-~]{1,64}$/ },
  SIGNATURE,
];

/** Of every other request. */
export const SERVICE_HEADERS: readonly HeaderRule[] = [
  TIMESTAMP,
  SIGNATURE,
  { name: 'X-PARTNER-ID', form: /^[!-~]{1,36}$/ },
  // What it may hold depends on the client, which is not known yet.
  { name: 'X-EXTERNAL-ID', form: /^[ -~]{1,64}$/ },
  { name: 'CHANNEL-ID', form: /^[!-~]{1,5}$/ },
];

/** @throws SnapRejection for the first header that is missing or malformed */
export function requireHeaders(headers: IncomingHttpHeaders, rules: readonly HeaderRule[]): void {
  for (const { name, form } of rules) {
    const value = headerOf(headers, name);
    if (value === '') throw missing(name);
    if (!form.test(value)) throw malformed(name);
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
  if (utc === null) throw malformed('X-TIMESTAMP');
  return Date.parse(utc);
}

/** @throws SnapRejection when the timestamp is more than `clockSkewSeconds` before or after this clock */
export function requireRecentTimestamp(timestampMs: number, clockSkewSeconds: number): void {
  if (Math.abs(Date.now() - timestampMs) > clockSkewSeconds * 1000) {
    throw unauthorized(`X-TIMESTAMP is more than ${clockSkewSeconds} s off`);
  }
}
