import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { ownProperty } from '../../lib/own-property.ts';
import { failureReasonOf } from './failure-reason.ts';
import { parseReply, parseResponseCode, textOf } from './reply.ts';

/** What the bank says of a transfer by itself. */
export interface TransferNotification {
  readonly partnerReferenceNo: string;
  readonly status: 'SUCCESS' | 'FAILED' | 'REFUNDED';
  /** A code of the published list, with FAILED. */
  readonly failureReason: string;
}

const STATUSES: Readonly<Record<string, TransferNotification['status']>> = {
  '00': 'SUCCESS',
  '04': 'REFUNDED',
  '05': 'FAILED',
  '06': 'FAILED',
};

export interface SignedNotification {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Symmetric signature (ASPI, "keamanan"); the bank has no token of its partner's, so it covers an empty one. */
export function isSignedBy(clientSecret: string, { path, headers, body }: SignedNotification): boolean {
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const expected = createHmac('sha512', clientSecret)
    .update(`POST:${path}::${bodyHash}:${String(headers['x-timestamp'])}`)
    .digest();
  const given = Buffer.from(String(headers['x-signature']), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Null for what says nothing final. */
export function readNotification(body: string): TransferNotification | null {
  const reply = parseReply(body);
  if (reply === null) return null;
  const partnerReferenceNo = textOf(reply, 'originalPartnerReferenceNo');
  const word = textOf(reply, 'latestTransactionStatus') ?? '';
  const status = ownProperty(STATUSES, word);
  if (partnerReferenceNo === undefined || status === undefined) return null;
  const failureReason =
    status === 'REFUNDED' ? 'REFUNDED' : failureReasonOf(parseResponseCode(textOf(reply, 'previousResponseCode')));
  return { partnerReferenceNo, status, failureReason };
}
