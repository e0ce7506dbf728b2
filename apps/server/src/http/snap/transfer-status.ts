import type { FastifyInstance } from 'fastify';
import { readFailureReason } from '../../domain/failure-reason.ts';
import { isTransactionId } from '../../domain/identifiers.ts';
import { parseInstant } from '../../domain/instant.ts';
import { parseMoney } from '../../domain/money.ts';
import { isFinal, isTransferServiceCode, TRANSFER_SERVICE_CODES } from '../../domain/transaction.ts';
import { isJsonObject, type JsonObject } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import type { Span } from '../../observability/tracing/tracing.ts';
import type { Database } from '../../postgres/database.ts';
import {
  findSnapTransactions,
  type SnapTransaction,
  type SnapTransactionKeys,
} from '../../postgres/snap-transactions.ts';
import { CODES_BY_FAILURE_REASON } from '../../snap/failure-codes.ts';
import { snapTimestamp } from '../../snap/timestamp.ts';
import type { RetryAfter } from '../check-status/transaction-answer.ts';
import { mandatoryText, optionalText } from './body.ts';
import { TIME_FORM } from './headers.ts';
import { malformed, missing, type SnapAnswer, SnapRejection } from './response-codes.ts';
import { SNAP_SERVICES } from './services.ts';
import { type SignedServiceDependencies, type SnapCall, signedService } from './signed-service.ts';

export interface TransferStatusDependencies extends SignedServiceDependencies {
  readonly lookUpDatabase: Database;
  /** Asks the bank about a transaction whose status is stale. Resolves with whether it was asked. */
  readonly refresh: (clientId: string, transactionId: string, rail: string, reader?: Span) => Promise<boolean>;
  readonly retryAfter: RetryAfter;
}

/** In characters (ASPI, service 36). The external ID has the length of its header. */
const LENGTHS = { reference: 64, externalId: 36, serviceCode: 2, time: 40, bankCode: 11, shortReference: 30 } as const;

/** A part of the 3 s of check-status. The rest is a reserve for a busy process. */
const ANSWER_WITHIN_MS = 2_800;

/** Transaction status inquiry (ASPI, service 36): check-status under SNAP's names. */
export function transferStatus(app: FastifyInstance, dependencies: TransferStatusDependencies): void {
  const { route } = SNAP_SERVICES.transferStatus;
  signedService(
    app,
    dependencies,
    { route, scope: 'status:read', limitedOperation: 'check-status', answerWithinMs: ANSWER_WITHIN_MS },
    (call) => answerStatus(dependencies, call),
  );
}

/** What the client says about its transfer. */
interface StatusInquiry {
  readonly keys: SnapTransactionKeys;
  readonly originalReferenceNo: string | null;
  readonly serviceCode: string;
  readonly amount: Amount | null;
}

interface Amount {
  /** With two decimals. */
  readonly value: string;
  readonly currency: string;
}

async function answerStatus(
  { lookUpDatabase, refresh, retryAfter }: TransferStatusDependencies,
  { request, reply, clientId, fields }: SnapCall,
): Promise<SnapAnswer> {
  const inquiry = readInquiry(fields);
  const find = async () =>
    matchingTransaction(await findSnapTransactions(lookUpDatabase, clientId, inquiry.keys), inquiry);
  let found = await find();
  if (!isFinal(found.status) && found.rail !== null) {
    const inquired = await refresh(clientId, found.transactionId, found.rail, request.span);
    if (inquired) found = await find();
  }
  if (!isFinal(found.status)) reply.header('retry-after', retryAfter(found.rendered));
  return { snapCase: 'successful', fields: statusFields(found, inquiry.serviceCode) };
}

function readInquiry(fields: JsonObject): StatusInquiry {
  const serviceCode = mandatoryText(fields, 'serviceCode', LENGTHS.serviceCode);
  if (!isTransferServiceCode(serviceCode))
    throw malformed('serviceCode', `one of ${TRANSFER_SERVICE_CODES.join(', ')}`);
  const referenceId = optionalText(fields, 'originalPartnerReferenceNo', LENGTHS.reference);
  const originalReferenceNo = optionalText(fields, 'originalReferenceNo', LENGTHS.reference);
  const externalId = optionalText(fields, 'originalExternalId', LENGTHS.externalId);
  const time = optionalText(fields, 'transactionDate', LENGTHS.time);
  const createdOn = time === null ? null : parseInstant(time);
  if (time !== null && createdOn === null) throw malformed('transactionDate', TIME_FORM);
  const transactionId =
    originalReferenceNo !== null && isTransactionId(originalReferenceNo) ? originalReferenceNo : null;
  if (referenceId === null && transactionId === null && externalId === null) {
    // A bank's reference is compared, not searched for: alone it proves nothing about the transfer.
    throw originalReferenceNo === null
      ? missing('originalPartnerReferenceNo')
      : malformed('originalReferenceNo', 'not a transaction ID. Add originalPartnerReferenceNo; do not pay again');
  }
  const keys = { referenceId, transactionId, externalId, createdOn };
  return { keys, originalReferenceNo, serviceCode, amount: readAmount(fields) };
}

function readAmount(fields: JsonObject): Amount | null {
  const amount = ownProperty(fields, 'amount') ?? null;
  if (amount === null) return null;
  if (!isJsonObject(amount)) throw malformed('amount', 'an object with value and currency');
  const named = { 'amount.value': ownProperty(amount, 'value'), 'amount.currency': ownProperty(amount, 'currency') };
  const value = parseMoney(mandatoryText(named, 'amount.value', LENGTHS.reference));
  if (value === null) throw malformed('amount.value', 'a decimal such as 150000.00');
  return { value, currency: mandatoryText(named, 'amount.currency', 3) };
}

/**
 * The transaction that matches everything in the inquiry. The answer is "not found" only if no key finds a transaction,
 * because the client may then pay again. A contradiction does not prove that nothing was paid.
 */
function matchingTransaction(
  [found, ...others]: readonly SnapTransaction[],
  { keys, originalReferenceNo, serviceCode, amount }: StatusInquiry,
): SnapTransaction {
  if (found === undefined) throw new SnapRejection('TRANSACTION_NOT_FOUND', 'transactionNotFound');
  const differs = (given: string | null, known: string | null): boolean =>
    given !== null && known !== null && given !== known;
  const contradiction = [
    ['originalPartnerReferenceNo', differs(keys.referenceId, found.referenceId)],
    [
      'originalReferenceNo',
      differs(originalReferenceNo, found.transactionId) && originalReferenceNo !== found.bankReference,
    ],
    ['originalExternalId', differs(keys.externalId, found.externalId)],
    ...externalIdContradictions(found, others, keys),
    ['serviceCode', differs(serviceCode, found.serviceCode)],
  ].find(([, isContradiction]) => isContradiction);
  if (contradiction !== undefined) {
    throw new SnapRejection('INVALID_REQUEST', 'inconsistentRequest', { detail: String(contradiction[0]) });
  }
  if (amount !== null && (amount.value !== found.amount || amount.currency !== found.currency)) {
    throw new SnapRejection('INVALID_REQUEST', 'invalidAmount', { detail: 'amount' });
  }
  return found;
}

/**
 * An X-EXTERNAL-ID is unique in a day only. Alone it names a transfer where it finds one on the day of the inquiry; a
 * guess could give the status of another transfer. The day of the client and of the core may differ at midnight, so
 * another day is no proof that there is no transfer.
 */
function externalIdContradictions(
  found: SnapTransaction,
  others: readonly SnapTransaction[],
  { referenceId, transactionId }: SnapTransactionKeys,
): readonly (readonly [string, boolean])[] {
  if (referenceId !== null || transactionId !== null) {
    const isAnother = ({ externalId }: SnapTransaction) => found.externalId === null || externalId !== found.externalId;
    return [['originalExternalId', others.some(isAnother)]];
  }
  return [
    ['transactionDate is not the day of originalExternalId', !found.isOnDay],
    [
      'originalExternalId names several transfers: add transactionDate or another identifier',
      others.some(({ isOnDay }) => isOnDay),
    ],
  ];
}

/** latestTransactionStatus and its description (ASPI, service 36). */
const LATEST = {
  SUCCESS: ['00', 'Success'],
  PROCESS: ['03', 'Pending'],
  FAILED: ['06', 'Failed'],
  REVERSED: ['04', 'Refunded'],
} as const;

function statusFields(found: SnapTransaction, serviceCode: string): Readonly<Record<string, unknown>> {
  const { transactionId, referenceId, amount, currency, bankCode, bankReference } = found;
  const [status, description] = LATEST[found.isReversed ? 'REVERSED' : found.status];
  const service = found.serviceCode ?? serviceCode;
  // What is undefined is left out: SNAP has no room for it, or the feed did not give it.
  return {
    originalReferenceNo: transactionId,
    originalPartnerReferenceNo: within(referenceId, LENGTHS.reference),
    originalExternalId: found.externalId ?? undefined,
    serviceCode: service,
    transactionDate: snapTimestamp(found.createdAt.getTime()),
    amount: { value: amount, currency },
    beneficiaryAccountNo: found.accountNumber,
    beneficiaryBankCode: within(bankCode, LENGTHS.bankCode),
    currency,
    previousResponseCode: previousResponseCode(found, service),
    referenceNumber: within(bankReference ?? transactionId, LENGTHS.shortReference),
    sourceAccountNo: found.sourceAccountNumber ?? undefined,
    latestTransactionStatus: status,
    transactionStatusDesc: description,
  };
}

const within = (text: string, lengthMax: number): string | undefined =>
  Array.from(text).length <= lengthMax ? text : undefined;

/** The response code that the transfer would have had, by its failure reason. */
function previousResponseCode({ failureReason }: SnapTransaction, service: string): string | undefined {
  const code = failureReason === null ? null : CODES_BY_FAILURE_REASON[readFailureReason(failureReason)];
  return code?.replace(' ', service);
}
