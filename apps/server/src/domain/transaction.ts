/**
 * Terms of this file; docs/glossary.md has all of them.
 *
 * - client: a company that disburses. It owns transactions.
 * - transaction: one disbursement. `transactionId` is the service's identifier, `referenceId` is the client's.
 * - status: PROCESS, then SUCCESS or FAILED. SUCCESS and FAILED are final and never change.
 * - status update: what one source reports about a transaction: the disbursement core in a message of the feed, or the
 *   bank in its reply to a status inquiry.
 * - status update record: a status update as it is stored, with its outcome. The status follows from these
 *   records.
 * - event: a change of a transaction that its client is notified of.
 * - version: grows by one with each event of the transaction.
 */

import { addMoney } from './money.ts';

export const STATUSES = ['PROCESS', 'SUCCESS', 'FAILED'] as const;
export type Status = (typeof STATUSES)[number];

/** The transition table (docs/contract.md 3.1: a final status never changes). */
export const NEXT_STATUSES: Record<Status, readonly Status[]> = {
  PROCESS: ['SUCCESS', 'FAILED'],
  SUCCESS: [],
  FAILED: [],
};

export const isFinal = (status: Status): boolean => NEXT_STATUSES[status].length === 0;

/**
 * The fields of docs/contract.md 2.2, and what Tiba stores in addition. Amounts are exact decimals with two places, as
 * text; times are ISO 8601 UTC.
 */
export interface Transaction {
  readonly clientId: string;
  readonly transactionId: string;
  readonly referenceId: string;
  readonly status: Status;
  readonly amount: string;
  readonly fee: string;
  /** ISO 4217. */
  readonly currency: string;
  readonly bankCode: string;
  readonly bankName: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly description: string;
  readonly createdAt: string;
  /** null while PROCESS. */
  readonly processedAt: string | null;
  /** null unless FAILED. */
  readonly failureReason: string | null;
  /** 1 at first, or the number of events of the first status update; then one more with each event. */
  readonly version: number;
  /** The rail that carries the transfer, and the transfer's reference there for status inquiries; both or neither. */
  readonly rail: string | null;
  readonly railReference: string | null;
  /** When the bank returned the money after SUCCESS. */
  readonly reversedAt: string | null;
  /** The account that the transfer was paid from. */
  readonly sourceAccountNumber: string | null;
  /** SNAP's code of the transfer's service, such as `18`. */
  readonly serviceCode: string | null;
  /** The X-EXTERNAL-ID with which the client ordered the transfer. */
  readonly externalId: string | null;
  /** The bank's own reference of the transfer, as it stands on statements. */
  readonly bankReference: string | null;
  /** By when the bank is expected to have completed the transfer; null when the status is final. */
  readonly expectedBy: string | null;
  /** When the transaction was marked overdue; null if it was not. */
  readonly overdueSince: string | null;
}

/** The services of SNAP that order transfers: intrabank, interbank, RTGS, SKN, and from an e-wallet to a bank. */
export const TRANSFER_SERVICE_CODES = ['17', '18', '22', '23', '43'] as const;

export const isTransferServiceCode = (text: string): boolean =>
  (TRANSFER_SERVICE_CODES as readonly string[]).includes(text);

/** Fields that Tiba computes; no source supplies them. */
export type DerivedField = 'version' | 'expectedBy' | 'overdueSince';

/** One status update: the client, the transaction, the reported status, and any other fields that the source sent. */
export type StatusUpdate = Pick<Transaction, UpdateKey> & {
  readonly [Field in Exclude<keyof Transaction, UpdateKey | DerivedField>]?: Transaction[Field] | undefined;
} & {
  /** Not stored, because it is always amount + fee. A different value is a conflict, or a rejection at first. */
  readonly totalAmount?: string | undefined;
  /** The source gave no bank name: `bankName` is the directory's of today. Another stored name is no contradiction. */
  readonly isBankNameDefault?: boolean | undefined;
  /** Of a rail, with FAILED only: when the bank answered that it has returned the money. Not stored. */
  readonly refundedAt?: string | undefined;
};

type UpdateKey = 'clientId' | 'transactionId' | 'status';

/** The fields as the feed names them, for messages to the people who operate the feed. */
export const FEED_FIELD_NAMES = {
  clientId: 'client_id',
  transactionId: 'transaction_id',
  referenceId: 'reference_id',
  status: 'status',
  amount: 'amount',
  fee: 'fee',
  currency: 'currency',
  bankCode: 'bank_code',
  bankName: 'bank_name',
  accountNumber: 'account_number',
  accountName: 'account_name',
  description: 'description',
  createdAt: 'created_at',
  processedAt: 'processed_at',
  failureReason: 'failure_reason',
  rail: 'rail',
  railReference: 'rail_reference',
  reversedAt: 'reversed_at',
  sourceAccountNumber: 'source_account_number',
  serviceCode: 'service_code',
  externalId: 'external_id',
  bankReference: 'bank_reference',
} as const satisfies Record<Exclude<keyof Transaction, DerivedField>, string>;

/** What the response of a status check shows, but for amounts and times. The reason is empty where there is none. */
export interface ShownTexts {
  readonly transactionId: string;
  readonly referenceId: string;
  readonly status: string;
  readonly bankCode: string;
  readonly bankName: string;
  readonly accountNumber: string;
  readonly accountName: string;
  readonly description: string;
  readonly failureReason: string;
}

/** The rest of it. `processedAt` is empty while there is none. Nothing in these texts is ever escaped in JSON. */
export interface ShownAmountsAndTimes {
  readonly amount: string;
  readonly fee: string;
  readonly totalAmount: string;
  readonly createdAt: string;
  readonly processedAt: string;
}

/**
 * A transaction as JSON text: the fields of docs/contract.md 2.2, all of them, in that order. Amounts are JSON numbers
 * printed from the exact decimal, which is why this returns text and not an object for JSON.stringify.
 */
export const transactionJson = (transaction: Transaction): string =>
  printedTransactionJson(
    escapedTexts({
      transactionId: transaction.transactionId,
      referenceId: transaction.referenceId,
      status: transaction.status,
      bankCode: transaction.bankCode,
      bankName: transaction.bankName,
      accountNumber: transaction.accountNumber,
      accountName: transaction.accountName,
      description: transaction.description,
      failureReason: transaction.failureReason ?? '',
    }),
    {
      amount: transaction.amount,
      fee: transaction.fee,
      totalAmount: addMoney(transaction.amount, transaction.fee),
      createdAt: transaction.createdAt,
      processedAt: transaction.processedAt ?? '',
    },
  );

/** The same, with each text as it stands between the quotes of JSON. */
export const escapedTexts = (texts: ShownTexts): ShownTexts =>
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, JSON.stringify(text).slice(1, -1)]),
  ) as unknown as ShownTexts;

/** The same, from texts that have nothing to escape, or have been escaped. Status checks run this. */
export function printedTransactionJson(texts: ShownTexts, amountsAndTimes: ShownAmountsAndTimes): string {
  const { transactionId, referenceId, status, bankCode, bankName } = texts;
  const { accountNumber, accountName, description, failureReason } = texts;
  const { amount, fee, totalAmount, createdAt, processedAt } = amountsAndTimes;
  return (
    `{"transaction_id":"${transactionId}","reference_id":"${referenceId}","status":"${status}","amount":${amount}` +
    `,"fee":${fee},"total_amount":${totalAmount},"bank_code":"${bankCode}","bank_name":"${bankName}"` +
    `,"account_number":"${accountNumber}","account_name":"${accountName}","description":"${description}"` +
    `,"created_at":"${createdAt}","processed_at":${quotedOrNull(processedAt)}` +
    `,"failure_reason":${quotedOrNull(failureReason)}}`
  );
}

const quotedOrNull = (text: string): string => (text === '' ? 'null' : `"${text}"`);
