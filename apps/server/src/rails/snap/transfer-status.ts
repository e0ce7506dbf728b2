import { parseMoney } from '../../domain/money.ts';
import { isJsonObject } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import { snapTimestamp } from '../../snap/timestamp.ts';
import type { NoVerdictReason, StatusInquiryOutcome } from '../rail.ts';
import { failureReasonOf, isPerhapsExecuted, reasonForResponseCode } from './codes.ts';
import type { SnapService } from './exchange.ts';
import { filledTextOf, nonTextOf, parseReply, parseResponseCode, type Reply, readText, textOf } from './reply.ts';

/** An inquiry as it is sent. A reply must be about it. */
export interface SentStatusInquiry {
  readonly reference: string;
  /** The X-EXTERNAL-ID of the transfer's order; null where it is not known. */
  readonly externalId: string | null;
  /** The code of the service that ordered the transfer, such as `17` within the bank. */
  readonly service: string;
  /** With two decimal places. */
  readonly amount: string;
  readonly currency: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  /** The numbers by which the bank may name the recipient's account. */
  readonly accountNumbers: readonly string[];
}

const SUCCESSFUL = '200 00';
const TRANSACTION_NOT_FOUND = '404 01';

/** Transaction status inquiry (ASPI, service 36; `ownCode` is the bank's code for it). */
export const createTransferStatus = (ownCode: string): SnapService<SentStatusInquiry, StatusInquiryOutcome> => ({
  write: ({ reference, externalId, service, createdAt, amount, currency }) =>
    JSON.stringify({
      originalPartnerReferenceNo: reference,
      ...(externalId === null ? {} : { originalExternalId: externalId }),
      serviceCode: service,
      transactionDate: snapTimestamp(Date.parse(createdAt)),
      amount: { value: amount, currency },
    }),
  read: (httpStatus, body, sent) => transferStatus(ownCode, httpStatus, body, sent),
});

/**
 * Fields that must be text. An object in the place of one may hide relevant information, so the reply is not believed.
 */
const TEXT_FIELDS = [
  'originalPartnerReferenceNo',
  'originalReferenceNo',
  'originalExternalId',
  'serviceCode',
  'currency',
  'beneficiaryAccountNo',
  'latestTransactionStatus',
  'previousResponseCode',
] as const;

/**
 * The outcome of a reply to a status inquiry. Its response code is about the inquiry, `latestTransactionStatus` about
 * the transfer. It is believed only when it is well-formed and names the transfer of the inquiry.
 */
function transferStatus(
  ownCode: string,
  httpStatus: number,
  body: string,
  sent: SentStatusInquiry,
): StatusInquiryOutcome {
  const reply = parseReply(body);
  const code = reply?.responseCode ?? null;
  if (reply === null || code === null)
    return noStatus(httpStatus >= 500 ? 'bank_unavailable' : 'invalid_response', null);
  if (code.service !== ownCode || code.httpStatus !== httpStatus) return noStatus('invalid_response', code.text);
  if (TEXT_FIELDS.some((name) => nonTextOf(reply, name) !== undefined)) return noStatus('invalid_response', code.text);

  if (code.meaning === TRANSACTION_NOT_FOUND) {
    return contradicts(reply, sent) ? noStatus('invalid_response', code.text) : unknown(code.text);
  }
  if (code.meaning !== SUCCESSFUL) return noStatus(reasonForResponseCode(code), code.text);
  if (!namesTransfer(reply, sent) || contradicts(reply, sent)) return noStatus('invalid_response', code.text);
  return outcomeOf(reply, code.text);
}

/** A success names its transfer. Without that, the reply may be to another inquiry. */
function namesTransfer(reply: Reply, { reference, service }: SentStatusInquiry): boolean {
  const named = filledTextOf(reply, 'originalPartnerReferenceNo') ?? filledTextOf(reply, 'originalReferenceNo');
  return named === reference && textOf(reply, 'serviceCode') === service;
}

function contradicts(reply: Reply, sent: SentStatusInquiry): boolean {
  const differs = (name: string, expected: string): boolean => (filledTextOf(reply, name) ?? expected) !== expected;
  const amount = ownProperty(reply.fields, 'amount') ?? null;
  const account = filledTextOf(reply, 'beneficiaryAccountNo');
  return (
    (sent.externalId !== null && differs('originalExternalId', sent.externalId)) ||
    differs('originalPartnerReferenceNo', sent.reference) ||
    differs('serviceCode', sent.service) ||
    differs('currency', sent.currency) ||
    (account !== undefined && !sent.accountNumbers.includes(account)) ||
    (amount !== null && !isEmptyAmount(amount) && !isAmount(amount, sent))
  );
}

const isEmptyAmount = (value: unknown): boolean =>
  isJsonObject(value) && value['value'] === '' && value['currency'] === '';

function isAmount(value: unknown, { amount, currency }: SentStatusInquiry): boolean {
  if (!isJsonObject(value)) return false;
  return parseMoney(readText(value['value']) ?? '') === amount && value['currency'] === currency;
}

/** `latestTransactionStatus` (ASPI, service 36). The time in the reply is that of the order, so it is not used. */
function outcomeOf(reply: Reply, responseCode: string): StatusInquiryOutcome {
  const status = textOf(reply, 'latestTransactionStatus') ?? '';
  const previous = parseResponseCode(textOf(reply, 'previousResponseCode'));
  const railCode = [responseCode, status, ...(previous === null ? [] : [previous.text])].join(' ');
  const isFailure = status === '05' || status === '06';
  if (isFailure && previous !== null && isPerhapsExecuted(previous)) return noStatus('invalid_response', railCode);
  switch (status) {
    case '00': // success
      return { kind: 'status', status: 'SUCCESS', railCode };
    case '01': // initiated
    case '02': // paying
    case '03': // pending
      return { kind: 'status', status: 'PROCESS', railCode };
    case '04': // refunded
      return { kind: 'status', status: 'FAILED', failureReason: 'REFUNDED', reversed: true, railCode };
    case '05': // cancelled
      return { kind: 'status', status: 'FAILED', failureReason: 'CANCELLED', railCode };
    case '06': // failed
      return { kind: 'status', status: 'FAILED', failureReason: failureReasonOf(previous), railCode };
    case '07': // not found
      return unknown(railCode);
    default:
      return noStatus('invalid_response', responseCode);
  }
}

const unknown = (railCode: string): StatusInquiryOutcome => ({ kind: 'unknown_transfer', railCode });

const noStatus = (reason: NoVerdictReason, railCode: string | null): StatusInquiryOutcome => ({
  kind: 'no_status',
  reason,
  railCode,
});
