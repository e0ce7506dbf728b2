import { keyOf } from '../domain/identifiers.ts';
import type { NotificationHandler } from '../postgres/notifications.ts';
import { parseTransactionChanges, type TransactionChange } from '../postgres/transaction-changes.ts';

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
