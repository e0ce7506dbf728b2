import { AccountNumber } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { publishedReason, readFailureReason } from '../domain/failure-reason.ts';
import { isPlainText, isReferenceId, isTransactionId, withoutBidiControls } from '../domain/identifiers.ts';
import { parseInstant } from '../domain/instant.ts';
import { parseMoney } from '../domain/money.ts';
import { toStoredText } from '../domain/stored-text.ts';
import {
  isFinal,
  isTransferServiceCode,
  STATUSES,
  type Status,
  type StatusUpdate,
  TRANSFER_SERVICE_CODES,
} from '../domain/transaction.ts';
import { isJsonObject, type JsonObject, numberText } from '../lib/exact-json.ts';

/** A status update with an invalid field; `message` names the field and says what it must be. */
export class InvalidUpdate extends Error {}

type Reader = (value: unknown, field: string) => string;

type Writable<Type> = { -readonly [Field in keyof Type]: Type[Field] };

const isClientId = (text: string): boolean => isPlainText(text, 64) && text !== '';

const readReferenceId = matching(isReferenceId, '1 to 128 characters without control characters');
const readCurrency = matching((value) => /^[A-Z]{3}$/.test(value), 'three capital letters (ISO 4217)');
const readBankCode = plainText(1, 32);
const readBankName = plainText(1, 100);
const readAccountNumber = matching((value) => AccountNumber.parse(value) !== null, '5 to 34 digits, as a string');
const readAccountName = plainText(1, 140);
const readDescription = plainText(0, 500);
const readRail = matching(
  (value) => /^[a-z0-9-]{1,32}$/.test(value),
  'the name of a rail: 1 to 32 lower-case letters, digits and hyphens',
);
const readRailReference = reference(64);
const readServiceCode = matching(isTransferServiceCode, `one of ${TRANSFER_SERVICE_CODES.join(', ')}, as a string`);
const readExternalId = reference(36);
const readBankReference = reference(30);

/**
 * Parses one status update of the feed. `value` comes from a parser that keeps numbers exact (lossless-json).
 * A null field counts as omitted. Unknown fields are ignored; the status update record keeps them.
 * @throws InvalidUpdate
 */
export function parseUpdate(value: unknown, banks: BankDirectory): StatusUpdate {
  if (!isJsonObject(value)) throw new InvalidUpdate('a transaction must be a JSON object');
  // A field `__proto__` must not supply the others.
  const fields = Object.getPrototypeOf(value) === Object.prototype ? value : { ...value };
  // Each field by its name, and all of them in one order: objects of one shape are written and read faster.
  const update: Writable<StatusUpdate> = {
    clientId: required(fields, 'client_id', isClientId, 'the client that owns it'),
    transactionId: required(fields, 'transaction_id', isTransactionId, '2 to 10 capital letters, then 6 to 32 digits'),
    status: required(fields, 'status', isStatus, `one of ${STATUSES.join(', ')}`),
    referenceId: read(fields['reference_id'], 'reference_id', readReferenceId),
    amount: read(fields['amount'], 'amount', readAmount),
    fee: read(fields['fee'], 'fee', readMoney),
    currency: read(fields['currency'], 'currency', readCurrency),
    bankCode: read(fields['bank_code'], 'bank_code', readBankCode),
    bankName: read(fields['bank_name'], 'bank_name', readBankName),
    accountNumber: read(fields['account_number'], 'account_number', readAccountNumber),
    accountName: read(fields['account_name'], 'account_name', readAccountName),
    description: read(fields['description'], 'description', readDescription),
    createdAt: read(fields['created_at'], 'created_at', readTime),
    processedAt: read(fields['processed_at'], 'processed_at', readTime),
    failureReason: read(fields['failure_reason'], 'failure_reason', readReason),
    rail: read(fields['rail'], 'rail', readRail),
    railReference: read(fields['rail_reference'], 'rail_reference', readRailReference),
    reversedAt: read(fields['reversed_at'], 'reversed_at', readTime),
    sourceAccountNumber: read(fields['source_account_number'], 'source_account_number', readAccountNumber),
    serviceCode: read(fields['service_code'], 'service_code', readServiceCode),
    externalId: read(fields['external_id'], 'external_id', readExternalId),
    bankReference: read(fields['bank_reference'], 'bank_reference', readBankReference),
    isBankNameDefault: false,
    totalAmount: undefined,
  };
  fillBankName(update, banks);
  validateStatusFields(update);
  update.totalAmount = read(fields['total_amount'], 'total_amount', readMoney);
  return update;
}

const read = (value: unknown, field: string, reader: Reader): string | undefined =>
  value === undefined || value === null ? undefined : reader(value, field);

function fillBankName(update: Writable<StatusUpdate>, banks: BankDirectory): void {
  if (update.bankCode === undefined || update.bankName !== undefined) return;
  // The core may use a code of its own. Only the first update must name its bank.
  update.bankName = banks.find(update.bankCode)?.name;
  update.isBankNameDefault = update.bankName !== undefined;
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
  const value = fields[field];
  if (typeof value !== 'string' || !accepts(value)) throw new InvalidUpdate(`${field} must be a string: ${expected}`);
  return value as T;
}

function matching(accepts: (text: string) => boolean, expected: string): Reader {
  return (value, field) => {
    if (typeof value !== 'string' || !accepts(value)) throw new InvalidUpdate(`${field} must be ${expected}`);
    return value;
  };
}

function reference(lengthMax: number): Reader {
  const accepts = (text: string): boolean => text !== '' && isPlainText(text, lengthMax);
  return matching(accepts, `1 to ${lengthMax} characters without control characters`);
}

function plainText(lengthMin: number, lengthMax: number): Reader {
  const accepts = (text: string): boolean =>
    withoutBidiControls(text).length >= lengthMin && isPlainText(text, lengthMax);
  const read = matching(accepts, `a string of ${lengthMin} to ${lengthMax} characters without control characters`);
  // Invisible characters are removed, not rejected: a status must not be lost over one.
  const readAny: Reader = (value, field) => toStoredText(read(value, field));
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
