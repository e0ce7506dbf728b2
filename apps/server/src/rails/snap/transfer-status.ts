import { parseMoney } from '../../domain/money.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { NoVerdictReason, StatusInquiryOutcome } from '../rail.ts';
import type { SnapService } from './exchange.ts';
import { reasonForResponseCode } from './exchange-failure.ts';
import { failureReasonOf } from './failure-reason.ts';
import { otherOf, parseReply, parseResponseCode, type Reply, readText, textOf } from './reply.ts';
import { snapTimestamp } from './timestamp.ts';

/** What was asked, for holding the reply against it. */
export interface SentStatusInquiry {
  readonly reference: string;
  /** Of the transfer that is asked about: `17` within the bank, `18` to another one. */
  readonly service: string;
  /** With two places. */
  readonly amount: string;
  readonly currency: string;
  /** ISO 8601 UTC. */
  readonly createdAt: string;
  readonly accountNumber: string;
}

const SUCCESSFUL = '200 00';
const TRANSACTION_NOT_FOUND = '404 01';

/**
 * Transfer status inquiry (ASPI, service 36; `ownCode` is what the bank calls it). With `externalIdIsReference` the question
 * names the order's X-EXTERNAL-ID too.
 */
export const createTransferStatus = (
  ownCode: string,
  externalIdIsReference: boolean,
): SnapService<SentStatusInquiry, StatusInquiryOutcome> => ({
  write: ({ reference, service, createdAt, amount, currency }) =>
    JSON.stringify({
      originalPartnerReferenceNo: reference,
      ...(externalIdIsReference ? { originalExternalId: reference } : {}),
      serviceCode: service,
      transactionDate: snapTimestamp(Date.parse(createdAt)),
      amount: { value: amount, currency },
    }),
  read: (httpStatus, body, asked) => transferStatus(ownCode, httpStatus, body, asked),
});

/** An object where one of these should be text may be the bank's way to say what must not be overlooked. */
const READ_FIELDS = [
  'originalPartnerReferenceNo',
  'originalReferenceNo',
  'serviceCode',
  'currency',
  'beneficiaryAccountNo',
  'latestTransactionStatus',
  'previousResponseCode',
] as const;

/**
 * What a reply to a status inquiry means. Its response code is about the inquiry, `latestTransactionStatus` about the
 * transfer. It is believed only when it is well-formed and names the transfer that was asked about.
 */
function transferStatus(
  ownCode: string,
  httpStatus: number,
  body: string,
  asked: SentStatusInquiry,
): StatusInquiryOutcome {
  const reply = parseReply(body);
  const code = reply?.responseCode ?? null;
  if (reply === null || code === null) return noWord(httpStatus >= 500 ? 'bank_unavailable' : 'invalid_response', null);
  if (code.service !== ownCode || code.httpStatus !== httpStatus) return noWord('invalid_response', code.text);
  if (READ_FIELDS.some((name) => otherOf(reply, name) !== undefined)) return noWord('invalid_response', code.text);

  const meaning = `${code.httpStatus} ${code.case}`;
  if (meaning === TRANSACTION_NOT_FOUND) {
    return contradicts(reply, asked) ? noWord('invalid_response', code.text) : unknown(code.text);
  }
  if (meaning !== SUCCESSFUL) return noWord(reasonForResponseCode(code.httpStatus), code.text);
  if (!names(reply, asked) || contradicts(reply, asked)) return noWord('invalid_response', code.text);
  return outcomeOf(reply, code.text);
}

/** A success says which transfer it is about: what does not may be the answer to another question. */
function names(reply: Reply, { reference, service }: SentStatusInquiry): boolean {
  const named = textOf(reply, 'originalPartnerReferenceNo') ?? textOf(reply, 'originalReferenceNo');
  return named === reference && textOf(reply, 'serviceCode') === service;
}

function contradicts(reply: Reply, asked: SentStatusInquiry): boolean {
  const differs = (name: string, expected: string): boolean => (textOf(reply, name) ?? expected) !== expected;
  const amount = ownProperty(reply.fields, 'amount') ?? null;
  return (
    differs('originalPartnerReferenceNo', asked.reference) ||
    differs('serviceCode', asked.service) ||
    differs('currency', asked.currency) ||
    differs('beneficiaryAccountNo', asked.accountNumber) ||
    (amount !== null && !isAmount(amount, asked))
  );
}

function isAmount(value: unknown, { amount, currency }: SentStatusInquiry): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const given = value as Record<string, unknown>;
  return parseMoney(readText(given['value']) ?? '') === amount && given['currency'] === currency;
}

/** `latestTransactionStatus` (ASPI, service 36). The time in the reply is that of the order, so none is taken. */
function outcomeOf(reply: Reply, responseCode: string): StatusInquiryOutcome {
  const status = textOf(reply, 'latestTransactionStatus') ?? '';
  const previous = parseResponseCode(textOf(reply, 'previousResponseCode'));
  const railCode = [responseCode, status, ...(previous === null ? [] : [previous.text])].join(' ');
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
      return noWord('invalid_response', responseCode);
  }
}

const unknown = (railCode: string): StatusInquiryOutcome => ({ kind: 'unknown_transfer', railCode });

const noWord = (reason: NoVerdictReason, railCode: string | null): StatusInquiryOutcome => ({
  kind: 'no_status',
  reason,
  railCode,
});
