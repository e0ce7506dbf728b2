import { keyOf } from '../domain/identifiers.ts';
import { msBetween } from '../domain/instant.ts';
import type { Transaction } from '../domain/transaction.ts';
import { FIELD_SEPARATOR, type Notifications, recordsOf } from './notification-payloads.ts';
import type { NotificationHandler } from './notifications.ts';
import type { TransactionKey } from './transactions.ts';

export const CHANGES_CHANNEL = 'tiba_changes';

/** The notification that every process gets about a changed transaction. */
export interface TransactionChange extends TransactionKey {
  readonly bankName: string;
  /** How long the bank took, in milliseconds; null while the transaction is in PROCESS. */
  readonly durationMs: number | null;
}

/** They tell all processes which transactions have changed. */
export const changeNotifications = (transactions: readonly Transaction[]): Notifications => ({
  channel: CHANGES_CHANNEL,
  records: transactions.map(recordOf),
});

function recordOf(transaction: Transaction): string {
  const { clientId, transactionId, bankName, createdAt, processedAt, reversedAt } = transaction;
  // A reversal comes days later and says nothing about how long the bank takes.
  const durationMs = processedAt === null || reversedAt !== null ? '' : Math.max(0, msBetween(createdAt, processedAt));
  return `${clientId}${FIELD_SEPARATOR}${transactionId}${FIELD_SEPARATOR}${bankName}${FIELD_SEPARATOR}${durationMs}`;
}

const parseTransactionChanges = (payload: string): TransactionChange[] =>
  recordsOf(payload).map(([clientId = '', transactionId = '', bankName = '', durationMs = '']) => ({
    clientId,
    transactionId,
    bankName,
    durationMs: durationMs === '' ? null : Number(durationMs),
  }));

/** Changes of transactions, from PostgreSQL notifications. One connection serves any number of watchers. */
export interface TransactionChanges extends NotificationHandler {
  /**
   * Calls `onChange` after each change of the transaction, and whenever a notification may have been missed: the caller
   * then reads the transaction. The returned function ends the watch.
   */
  watch(clientId: string, transactionId: string, onChange: () => void): () => void;
  /** Calls `onEach` with every change of every client, until the process ends: there is no unsubscribe. */
  subscribe(onEach: (change: TransactionChange) => void): void;
  /** The number of open watches. */
  watcherCount(): number;
}

export function createTransactionChanges(): TransactionChanges {
  const watchers = new Map<string, Set<() => void>>();
  const subscribers: ((change: TransactionChange) => void)[] = [];
  let watcherCount = 0;

  return {
    watch(clientId, transactionId, onChange) {
      const key = keyOf(clientId, transactionId);
      const callbacks = watchers.get(key) ?? new Set();
      // Each watch has a function of its own, so that an `onChange` that is passed twice is called twice.
      const callback = (): void => onChange();
      callbacks.add(callback);
      watchers.set(key, callbacks);
      watcherCount += 1;
      return () => {
        if (!callbacks.delete(callback)) return;
        watcherCount -= 1;
        if (callbacks.size === 0 && watchers.get(key) === callbacks) watchers.delete(key);
      };
    },
    subscribe: (onEach) => void subscribers.push(onEach),
    watcherCount: () => watcherCount,
    onNotification(payload) {
      for (const change of parseTransactionChanges(payload)) {
        for (const subscriber of subscribers) subscriber(change);
        for (const callback of watchers.get(keyOf(change.clientId, change.transactionId)) ?? []) callback();
      }
    },
    onConnected() {
      for (const callbacks of watchers.values()) for (const callback of callbacks) callback();
    },
  };
}
