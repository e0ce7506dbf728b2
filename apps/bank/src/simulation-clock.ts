import { isIPv4 } from 'node:net';
import { type BankResponse, jsonResponse, parseObject } from './http.ts';
import type { Transfers } from './transfers/transfers.ts';

/** Where the clock of transfers is pushed forward. No operation of SNAP BI: a bank has no such thing. */
export const CLOCK_PATH = '/simulation/clock';

// A hundred years in all keep every time within the four digits of a year.
const ADVANCED_SECONDS_MAX = 100 * 365 * 24 * 60 * 60;

/** Takes `{"advance_seconds": n}`; `body` is null when it was too long to be read. */
export function handleClockAdvance(transfers: Transfers, contentType: string, body: Buffer | null): BankResponse {
  // A web page may send other types to any address without asking, but not this one.
  if (!/^application\/json(?:\s*;|$)/i.test(contentType))
    return errorResponse(415, 'Content-Type must be application/json.');
  const seconds = (body === null ? null : parseObject(body))?.['advance_seconds'];
  const secondsMax = ADVANCED_SECONDS_MAX - transfers.clock().advancedSeconds;
  if (typeof seconds !== 'number' || !Number.isSafeInteger(seconds) || seconds < 0 || seconds > secondsMax) {
    return errorResponse(400, `advance_seconds must be a whole number from 0 to ${secondsMax}.`);
  }
  if (!transfers.advanceClock(seconds))
    return errorResponse(500, 'The journal cannot be written, so nothing was pushed.');
  const { nowMs, advancedSeconds } = transfers.clock();
  return jsonResponse(200, { now: new Date(nowMs).toISOString(), advanced_seconds: advancedSeconds });
}

/** Whether a connection has come in at a loopback address, that is, from this machine. */
export function isLoopback(localAddress = ''): boolean {
  // A listener for both families shows an IPv4 address inside an IPv6 one.
  const address = localAddress.replace(/^::ffff:/i, '');
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function errorResponse(status: number, error: string): BankResponse {
  return jsonResponse(status, { error });
}
