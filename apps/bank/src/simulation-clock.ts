import { isIPv4 } from 'node:net';
import { type BankResponse, jsonResponse, parseObject } from './http.ts';
import type { Transfers } from './transfers/transfers.ts';

/** The path that advances the clock of transfers. It is not part of SNAP BI: real banks have no such operation. */
export const CLOCK_PATH = '/simulation/clock';

// A total of a hundred years keeps every year within four digits.
const ADVANCED_SECONDS_MAX = 100 * 365 * 24 * 60 * 60;

/** Accepts `{"advance_seconds": n}`; `body` is null when it was longer than `BODY_BYTES_MAX`. */
export function handleClockAdvance(transfers: Transfers, contentType: string, body: Buffer | null): BankResponse {
  // A web page can send other content types to any address without a CORS preflight, but not this one.
  if (!/^application\/json(?:\s*;|$)/i.test(contentType))
    return errorResponse(415, 'Content-Type must be application/json.');
  const seconds = (body === null ? null : parseObject(body))?.['advance_seconds'];
  const secondsMax = ADVANCED_SECONDS_MAX - transfers.clock().advancedSeconds;
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds) || seconds < 0 || seconds > secondsMax) {
    return errorResponse(400, `advance_seconds must be a whole number from 0 to ${secondsMax}.`);
  }
  if (!transfers.advanceClock(seconds))
    return errorResponse(500, 'The journal cannot be written, so the clock was not advanced.');
  const { nowMs, advancedSeconds } = transfers.clock();
  return jsonResponse(200, { now: new Date(nowMs).toISOString(), advanced_seconds: advancedSeconds });
}

/** Whether a connection arrived at a loopback address, that is, from this machine. */
export function isLoopback(localAddress = ''): boolean {
  // A dual-stack listener reports an IPv4 address as an IPv4-mapped IPv6 address.
  const address = localAddress.replace(/^::ffff:/i, '');
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function errorResponse(status: number, error: string): BankResponse {
  return jsonResponse(status, { error });
}
