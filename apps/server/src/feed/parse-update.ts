import { AccountNumber } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { publishedReason, readFailureReason } from '../domain/failure-reason.ts';
import { isPlainText, isReferenceId, isTransactionId, withoutBidiControls } from '../domain/identifiers.ts';
import { parseInstant } from '../domain/instant.ts';
import { parseMoney } from '../domain/money.ts';
import {
  FEED_FIELD_NAMES,
  isFinal,
  isTransferServiceCode,
  STATUSES,
  type Status,
  type StatusUpdate,
  TRANSFER_SERVICE_CODES,
} from '../domain/transaction.ts';
import { isJsonObject, type JsonObject, numberText } from '../lib/exact-json.ts';
import { ownProperty } from '../lib/own-property.ts';

/** A status update with an invalid field; `message` names the field and says what it must be. */
export class InvalidUpdate extends Error {}

type Reader = (value: unknown, field: string) => string;

type OptionalField = Exclude<keyof typeof FEED_FIELD_NAMES, 'clientId' | 'transactionId' | 'status'>;

const READERS: Record<OptionalField, Reader> = {
  referenceId: matching(isReferenceId, '1 to 128 characters without control characters'),
  amount: readAmount,
  fee: readMoney,
  currency: matching((value) => /^[A-Z]{3}$/.test(value), 'three capital letters (ISO 4217)'),
  bankCode: plainText(1, 32),
  bankName: plainText(1, 100),
  accountNumber: matching((value) => AccountNumber.parse(value) !== null, '5 to 34 digits, as a string'),
  accountName: plainText(1, 140),
  description: plainText(0, 500),
  createdAt: readTime,
  processedAt: readTime,
  failureReason: readReason,
  rail: matching(
    (value) => /^[a-z0-9-]{1,32}$/.test(value),
    'the name of a rail: 1 to 32 lower-case letters, digits and hyphens',
  ),
  railReference: matching(
    (value) => value !== '' && isPlainText(value, 64),
    '1 to 64 characters without control characters',
  ),
  reversedAt: readTime,
  sourceAccountNumber: matching((value) => AccountNumber.parse(value) !== null, '5 to 34 digits, as a string'),
  serviceCode: matching(
    (value) => isTransferServiceCode(value),
    `one of ${TRANSFER_SERVICE_CODES.join(', ')}, as a string`,
  ),
  externalId: matching(
    (value) => value !== '' && isPlainText(value, 36),
    '1 to 36 characters without control characters',
  ),
  bankReference: matching(
    (value) => value !== '' && isPlainText(value, 30),
    '1 to 30 characters without control characters',
  ),
};
const READER_ENTRIES = Object.entries(READERS) as [OptionalField, Reader][];

/**
 * Parses one status update of the feed. `value` comes from a parser that keeps numbers exact (lossless-json).
 * A null field counts as omitted. Unknown fields are ignored; the status update record keeps them.
 * @throws InvalidUpdate
 */
export function parseUpdate(value: unknown, banks: BankDirectory): StatusUpdate {
  if (!isJsonObject(value)) throw new InvalidUpdate('a transaction must be a JSON object');
  const update: { -readonly [Field in keyof StatusUpdate]: StatusUpdate[Field] } = {
    clientId: required(value, 'client_id', (text) => isPlainText(text, 64) && text !== '', 'the client that owns it'),
    transactionId: required(value, 'transaction_id', isTransactionId, '2 to 10 capital letters, then 6 to 32 digits'),
    status: required(value, 'status', isStatus, STATUSES.join(', ')),
  };
  for (const [key, read] of READER_ENTRIES) {
    const field = FEED_FIELD_NAMES[key];
    const fieldValue = ownProperty(value, field);
    if (fieldValue !== undefined && fieldValue !== null) update[key] = read(fieldValue, field);
  }
  fillBankName(update, banks);
  validateStatusFields(update);
  const total = ownProperty(value, 'total_amount');
  if (total !== undefined && total !== null) update.totalAmount = readMoney(total, 'total_amount');
  return update;
}

function fillBankName(update: { bankCode?: string; bankName?: string }, banks: BankDirectory): void {
  if (update.bankCode === undefined || update.bankName !== undefined) return;
  const bank = banks.find(update.bankCode);
  if (bank === null) throw new InvalidUpdate('bank_code is not in the bank directory: give bank_name as well');
  update.bankName = bank.name;
}

function validateStatusFields(update: StatusUpdate): void {
  if (update.status === 'FAILED' && update.failureReason === undefined) {
    throw new InvalidUpdate('failure_reason must be given when status is FAILED');
  }
  if (update.status !== 'FAILED' && update.failureReason !== undefined) {
    throw new InvalidUpdate('failure_reason must be null unless status is FAILED');
  }
  if (!isFinal(update.status) && update.processedAt !== undefined) {
    throw new InvalidUpdate('processed_at must be null while status is PROCESS');
  }
  if (update.status !== 'SUCCESS' && update.reversedAt !== undefined) {
    throw new InvalidUpdate('reversed_at must be null unless status is SUCCESS');
  }
  if ((update.rail === undefined) !== (update.railReference === undefined)) {
    throw new InvalidUpdate('rail and rail_reference must be given together');
  }
}

function required<T extends string>(
  fields: JsonObject,
  field: string,
  accepts: ((text: string) => text is T) | ((text: string) => boolean),
  expected: string,
): T {
  const value = ownProperty(fields, field);
  if (typeof value !== 'string' || !accepts(value)) throw new InvalidUpdate(`${field} must be a string: ${expected}`);
  return value as T;
}

function matching(accepts: (text: string) => boolean, expected: string): Reader {
  return (value, field) => {
    if (typeof value !== 'string' || !accepts(value)) throw new InvalidUpdate(`${field} must be ${expected}`);
    return value;
  };
}

function plainText(lengthMin: number, lengthMax: number): Reader {
  const accepts = (text: string): boolean =>
    withoutBidiControls(text).length >= lengthMin && isPlainText(text, lengthMax);
  const read = matching(accepts, `a string of ${lengthMin} to ${lengthMax} characters without control characters`);
  // Names arrive composed or decomposed, depending on the machine that wrote them. They are stored composed, and
  // without bidirectional controls. Those are not rejected: a status must not be lost over an invisible character.
  const readAny: Reader = (value, field) => withoutBidiControls(read(value, field)).normalize('NFC');
  // Nearly every text is printable ASCII, which is composed and has no controls.
  return (value, field) =>
    typeof value === 'string' && value.length >= lengthMin && value.length <= lengthMax && PRINTABLE_ASCII.test(value)
      ? value
      : readAny(value, field);
}

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

const readReasonText = plainText(1, 500);

/** Any text in, a published text out. The core's own text stays in the status update record. */
function readReason(value: unknown, field: string): string {
  return publishedReason(readFailureReason(readReasonText(value, field)));
}

function readMoney(value: unknown, field: string): string {
  const text = numberText(value) ?? value;
  const money = typeof text === 'string' ? parseMoney(text) : null;
  if (money === null) {
    throw new InvalidUpdate(
      `${field} must be a plain decimal with at most 18 digits and two places, for example 150000.00`,
    );
  }
  return money;
}

function readAmount(value: unknown, field: string): string {
  const amount = readMoney(value, field);
  if (amount === '0.00') throw new InvalidUpdate(`${field} must be more than zero`);
  return amount;
}

function readTime(value: unknown, field: string): string {
  const time = typeof value === 'string' ? parseInstant(value) : null;
  if (time !== null) return time;
  throw new InvalidUpdate(`${field} must be a time with its zone, for example 2026-11-21T04:32:26.123Z`);
}

const isStatus = (text: string): text is Status => (STATUSES as readonly string[]).includes(text);
