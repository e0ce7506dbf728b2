import { keyOf } from '../domain/identifiers.ts';
import type { NotificationHandler } from '../postgres/notifications.ts';
import { parseTransactionChanges, type TransactionChange } from '../postgres/transaction-changes.ts';

/** News of changes, as PostgreSQL tells every process. However many wait, it is one connection that listens. */
export interface TransactionChanges extends NotificationHandler {
  /**
   * Calls `onChange` after each change of the transaction, and whenever one may have been missed: read it then. The
   * returned function ends the watch.
   */
  watch(clientId: string, transactionId: string, onChange: () => void): () => void;
  /** Calls `onEach` with every change of every client. For whole lives: there is no end to it. */
  subscribe(onEach: (change: TransactionChange) => void): void;
  /** How many are watching. */
  watcherCount(): number;
}

export function createTransactionChanges(): TransactionChanges {
  const watchers = new Map<string, Set<() => void>>();
  const hearers: ((change: TransactionChange) => void)[] = [];
  let watching = 0;

  return {
    watch(clientId, transactionId, onChange) {
      const key = keyOf(clientId, transactionId);
      const own = watchers.get(key) ?? new Set();
      // A function of its own for each watch, so that the same one given twice is called twice.
      const call = (): void => onChange();
      own.add(call);
      watchers.set(key, own);
      watching += 1;
      return () => {
        if (!own.delete(call)) return;
        watching -= 1;
        if (own.size === 0 && watchers.get(key) === own) watchers.delete(key);
      };
    },
    subscribe: (onEach) => void hearers.push(onEach),
    watcherCount: () => watching,
    onNotification(payload) {
      for (const change of parseTransactionChanges(payload)) {
        for (const hear of hearers) hear(change);
        for (const call of watchers.get(keyOf(change.clientId, change.transactionId)) ?? []) call();
      }
    },
    onConnected() {
      for (const own of watchers.values()) for (const call of own) call();
    },
  };
}
