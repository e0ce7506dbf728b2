import { msBetween } from '../domain/instant.ts';
import type { Transaction } from '../domain/transaction.ts';
import type { Query } from './database.ts';
import { notify, recordsOf } from './notification-payloads.ts';
import type { TransactionKey } from './transactions.ts';

export const CHANGES_CHANNEL = 'tiba_changes';

/** The notification that every process gets about a changed transaction. */
export interface TransactionChange extends TransactionKey {
  readonly bankName: string;
  /** How long the bank took, in milliseconds; null while the transaction is in PROCESS. */
  readonly durationMs: number | null;
}

/** Notifies all processes when the database transaction is committed. */
export const notifyTransactionChanges = (query: Query, transactions: readonly Transaction[]): Promise<void> =>
  notify(query, CHANGES_CHANNEL, transactions.map(recordOf));

function recordOf(transaction: Transaction): (string | number)[] {
  const { clientId, transactionId, bankName, createdAt, processedAt, reversedAt } = transaction;
  // A reversal comes days later and says nothing about how long the bank takes.
  const durationMs = processedAt === null || reversedAt !== null ? '' : Math.max(0, msBetween(createdAt, processedAt));
  return [clientId, transactionId, bankName, durationMs];
}

export const parseTransactionChanges = (payload: string): TransactionChange[] =>
  recordsOf(payload).map(([clientId = '', transactionId = '', bankName = '', durationMs = '']) => ({
    clientId,
    transactionId,
    bankName,
    durationMs: durationMs === '' ? null : Number(durationMs),
  }));
