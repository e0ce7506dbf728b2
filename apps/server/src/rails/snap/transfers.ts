import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Bank } from '../../domain/bank.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { snapTimestamp } from '../../snap/timestamp.ts';
import { failureReasonOf, isPerhapsExecuted } from './codes.ts';
import { createSnapExchange, type SnapService } from './exchange.ts';
import { bankCodeOf } from './message-fields.ts';
import type { SnapProfile } from './profiles/profile.ts';
import { parseReply, parseResponseCode, textOf } from './reply.ts';
import { profileOf, type SnapSettings } from './settings.ts';

/** The side of a disbursement core: it orders transfers from its bank, and receives the bank's notifications. */
export interface SnapTransfers {
  /** Never rejects. */
  order(order: TransferOrder): Promise<Acceptance>;
  /** `forged` when the signature is not the bank's; null for a notification without a certain final status. */
  read(notification: SignedNotification): TransferNotification | 'forged' | null;
  close(): Promise<void>;
}

const ORDER_TIMEOUT_MS = 4_000;

export function createSnapTransfers(settings: SnapSettings): SnapTransfers {
  const profile = profileOf(settings);
  const { transferIntrabank, transferInterbank } = profile.services;
  const exchange = createSnapExchange(settings);
  const orders = createTransferOrders(profile);
  return {
    order(order) {
      const intrabank = order.bank.bic === settings.ownBank ? transferIntrabank : null;
      return exchange
        .send(orders, (intrabank ?? transferInterbank).path, order, AbortSignal.timeout(ORDER_TIMEOUT_MS))
        .catch((): Acceptance => ({ kind: 'unknown' }));
    },
    read: (notification) =>
      isSignedBy(settings.clientSecret, notification) ? readNotification(notification.body) : 'forged',
    close: () => exchange.close(),
  };
}

/** A transfer order, as an operator's disbursement core sends it. In the sandbox, a demo core takes its place. */
export interface TransferOrder {
  readonly partnerReferenceNo: string;
  /** With two decimal places. */
  readonly amount: string;
  readonly bank: Bank;
  readonly accountNumber: string;
  readonly accountName: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
}

/**
 * `rejected` is certain, with the bank's response code. After `unknown`, the bank must be inquired about the transfer.
 */
export type Acceptance =
  | { readonly kind: 'accepted' | 'unknown' }
  | { readonly kind: 'rejected'; readonly code: string };

const SOURCE_ACCOUNT = '8880001000';

/** SNAP transfers (ASPI, services 17 and 18): within the bank, and to another one. */
const createTransferOrders = ({ bankCode }: SnapProfile): SnapService<TransferOrder, Acceptance> => ({
  write: ({ partnerReferenceNo, amount, bank, accountNumber, accountName, createdAt }) =>
    JSON.stringify({
      partnerReferenceNo,
      amount: { value: amount, currency: 'IDR' },
      beneficiaryAccountNo: accountNumber,
      beneficiaryAccountName: accountName,
      beneficiaryBankCode: bankCodeOf(bankCode.sent, bank),
      sourceAccountNo: SOURCE_ACCOUNT,
      transactionDate: snapTimestamp(Date.parse(createdAt)),
    }),
  read(httpStatus, body) {
    const code = parseReply(body)?.responseCode ?? null;
    // A response code that contradicts the HTTP status says nothing for certain.
    if (code === null || code.httpStatus !== httpStatus) return { kind: 'unknown' };
    if (httpStatus < 300) return { kind: 'accepted' };
    // Each order has a new X-EXTERNAL-ID. If the bank has seen it, the same request may have arrived twice.
    const isConflict = code.meaning === '409 00';
    const isRejected = httpStatus >= 400 && httpStatus < 500 && !isConflict && !isPerhapsExecuted(code);
    return isRejected ? { kind: 'rejected', code: code.text } : { kind: 'unknown' };
  },
});

/** The bank's notification about a transfer. */
export interface TransferNotification {
  readonly partnerReferenceNo: string;
  readonly status: 'SUCCESS' | 'FAILED' | 'REFUNDED';
  /** A code of the published list, with FAILED. */
  readonly failureReason: string;
}

const NOTIFIED_STATUSES: Readonly<Record<string, TransferNotification['status']>> = {
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

/** Symmetric signature (ASPI, "keamanan"). The bank has no access token of its partner, so it signs an empty one. */
function isSignedBy(clientSecret: string, { path, headers, body }: SignedNotification): boolean {
  const bodyHash = createHash('sha256').update(body).digest('hex');
  const expected = createHmac('sha512', clientSecret)
    .update(`POST:${path}::${bodyHash}:${String(headers['x-timestamp'])}`)
    .digest();
  const given = Buffer.from(String(headers['x-signature']), 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Null for a status that is not final, and for a failure of a transfer that may have been executed. */
function readNotification(body: string): TransferNotification | null {
  const reply = parseReply(body);
  if (reply === null) return null;
  const partnerReferenceNo = textOf(reply, 'originalPartnerReferenceNo');
  const status = ownProperty(NOTIFIED_STATUSES, textOf(reply, 'latestTransactionStatus') ?? '');
  if (partnerReferenceNo === undefined || status === undefined) return null;
  const previous = parseResponseCode(textOf(reply, 'previousResponseCode'));
  if (status === 'FAILED' && previous !== null && isPerhapsExecuted(previous)) return null;
  const failureReason = status === 'REFUNDED' ? 'REFUNDED' : failureReasonOf(previous);
  return { partnerReferenceNo, status, failureReason };
}
