import { areInKeyOrder, compareKeys } from '../domain/identifiers.ts';
import type { Transaction } from '../domain/transaction.ts';
import { arrayFromParameter } from './bulk-parameters.ts';
import { type CopyValue, copySql, copyText } from './copy.ts';
import type { Query } from './database.ts';

/** What inserts, ends and updates of transactions have in common: the rows of the two tables, as they are written. */

/** The status updates that a transaction itself names. */
export interface AppliedUpdateIds {
  /** In decimal digits, as is the other. null: `tiba.other_status_updates` has it, or there was none. */
  readonly insertedBy: string | null;
  readonly advancedBy: string | null;
}

/** A transaction as it is to be stored. */
export interface TransactionToStore extends AppliedUpdateIds {
  readonly transaction: Transaction;
}

export const COMMON_COLUMNS = [
  'client_id',
  'transaction_id',
  'reference_id',
  'status',
  'amount',
  'fee',
  'currency',
  'bank_code',
  'bank_name',
  'account_number',
  'account_name',
  'description',
  'created_at',
  'version',
  'rendered',
  'inserted_by',
] as const;

/** What a transaction has in PROCESS only. */
export const PROCESS_COLUMNS = ['expected_by'] as const;

/** What it has only when it is final. */
export const FINAL_COLUMNS = ['processed_at', 'advanced_by'] as const;

/** What an update may add, and most updates do not. */
export const ADDED_COLUMNS = [
  'rail',
  'rail_reference',
  'source_account_number',
  'service_code',
  'external_id',
  'bank_reference',
] as const;

/** What most transactions do not have. */
export const RARE_COLUMNS = ['failure_reason', 'reversed_at', 'overdue_since', ...ADDED_COLUMNS] as const;

/** Columns that are not named are null, which costs less than a value that says so. */
export const copyTransactionsSql = (table: string, columns: readonly string[]) => ({
  plain: copySql(table, columns),
  withRare: copySql(table, [...columns, ...RARE_COLUMNS]),
});

/** The values of `COMMON_COLUMNS`, and those of the columns that follow them in this table. */
type RowOf<Stored> = (each: Stored, value: CopyValue, index: number) => string;

export async function copyTransactionRows<Stored extends TransactionToStore>(
  query: Query,
  sql: ReturnType<typeof copyTransactionsSql>,
  toStore: readonly Stored[],
  rowOf: RowOf<Stored>,
): Promise<void> {
  if (!toStore.some(({ transaction }) => hasRare(transaction))) return query.copy(sql.plain, copyText(toStore, rowOf));
  const withRare: RowOf<Stored> = (each, value, index) =>
    [rowOf(each, value, index), ...rareValues(each.transaction).map(value)].join('\t');
  return query.copy(sql.withRare, copyText(toStore, withRare));
}

/** The values of `COMMON_COLUMNS`. */
export const commonValues = (
  transaction: Transaction,
  rendered: string,
  insertedBy: string | null,
  value: CopyValue,
): string =>
  `${value(transaction.clientId)}\t${value(transaction.transactionId)}\t${value(transaction.referenceId)}` +
  `\t${value(transaction.status)}\t${value(transaction.amount)}\t${value(transaction.fee)}` +
  `\t${value(transaction.currency)}\t${value(transaction.bankCode)}\t${value(transaction.bankName)}` +
  `\t${value(transaction.accountNumber)}\t${value(transaction.accountName)}\t${value(transaction.description)}` +
  `\t${value(transaction.createdAt)}\t${transaction.version}\t${value(rendered)}\t${value(insertedBy)}`;

/** Whether it has any of `RARE_COLUMNS`. Without their list, which a feed would make for each line. */
export const hasRare = (transaction: Transaction): boolean =>
  transaction.failureReason !== null ||
  transaction.reversedAt !== null ||
  transaction.overdueSince !== null ||
  transaction.rail !== null ||
  transaction.railReference !== null ||
  transaction.sourceAccountNumber !== null ||
  transaction.serviceCode !== null ||
  transaction.externalId !== null ||
  transaction.bankReference !== null;

/** Those of `RARE_COLUMNS`. */
const rareValues = (transaction: Transaction): (string | null)[] => [
  transaction.failureReason,
  transaction.reversedAt,
  transaction.overdueSince,
  ...addedValues(transaction),
];

/** By column. */
export const addedByColumn = (
  transaction: Transaction,
): Readonly<Record<(typeof ADDED_COLUMNS)[number], string | null>> => ({
  rail: transaction.rail,
  rail_reference: transaction.railReference,
  source_account_number: transaction.sourceAccountNumber,
  service_code: transaction.serviceCode,
  external_id: transaction.externalId,
  bank_reference: transaction.bankReference,
});

/** Those of `ADDED_COLUMNS`. */
export function addedValues(transaction: Transaction): (string | null)[] {
  const added = addedByColumn(transaction);
  return ADDED_COLUMNS.map((column) => added[column]);
}

/** So that two feeds with the same transactions cannot deadlock, as with locks. */
export const inKeyOrder = <Stored extends TransactionToStore>(toStore: readonly Stored[]): readonly Stored[] =>
  areInKeyOrder(toStore.map(({ transaction }) => transaction))
    ? toStore
    : toStore.toSorted((one, other) => compareKeys(one.transaction, other.transaction));

/**
 * SQL that repeats a condition on the key, in $1 and $2, in a form that is executed as look-ups by key. With a join
 * alone, a plan that was made for a small table reads all transactions.
 */
export const KEYS = `t.client_id = any (${arrayFromParameter(1)} collate "C")
   and t.transaction_id = any (${arrayFromParameter(2)} collate "C")`;
