import type { TransactionChanges } from '../../postgres/transaction-changes.ts';
import type { FoundTransaction, TransactionLookUp } from '../../postgres/transaction-look-up.ts';

export interface TransactionWatchDependencies {
  readonly lookUp: TransactionLookUp;
  readonly transactionChanges: Pick<TransactionChanges, 'watch'>;
  /**
   * Sends a status inquiry to the bank if the last one is old enough. Resolves when the outcome is stored, and soon in
   * any case.
   */
  readonly refresh: (clientId: string, transactionId: string, rail: string) => Promise<unknown>;
  /** The interval between status inquiries while a client waits or streams, in milliseconds. */
  readonly refreshMs: number;
}

/** Follows the changes of one transaction. */
export interface TransactionWatch {
  latest(): FoundTransaction;
  /** Sets the listener, which is called after each change with the transaction as read after it. */
  onChange(listener: (found: FoundTransaction) => void): void;
  /** Reads the transaction again. Rejects when PostgreSQL cannot answer. */
  read(): Promise<FoundTransaction>;
  stop(): void;
}

/** The delay before a read that failed is tried again. */
const READ_RETRY_MS = 1_000;

/** The transaction by its ID. Rejects when it is gone, or when PostgreSQL cannot answer. */
export function findTransaction(
  lookUp: TransactionLookUp,
  clientId: string,
  transactionId: string,
): Promise<FoundTransaction> {
  return new Promise((resolve, reject) => {
    lookUp.find(clientId, transactionId, true, (error, found) => {
      if (found !== null) resolve(found);
      else reject(error ?? new Error('a transaction that was found before is gone'));
    });
  });
}

/** Watches a transaction of which `first` is known. Call `stop` on every path. */
export function watchTransaction(
  { lookUp, transactionChanges, refresh, refreshMs }: TransactionWatchDependencies,
  clientId: string,
  transactionId: string,
  first: FoundTransaction,
): TransactionWatch {
  let latest = first;
  let listener: ((found: FoundTransaction) => void) | undefined;
  let reading: Promise<FoundTransaction> | undefined;
  let readAgain = false;
  let stopped = false;
  let retry: NodeJS.Timeout | undefined;

  function read(): Promise<FoundTransaction> {
    readAgain = reading !== undefined;
    return (reading ??= findTransaction(lookUp, clientId, transactionId)
      .then((found) => {
        latest = found;
        return found;
      })
      .finally(() => {
        reading = undefined;
      }));
  }

  function onNotification(): void {
    if (stopped) return;
    read().then(
      (found) => {
        if (stopped) return;
        listener?.(found);
        // A notification arrived during this read, which may have seen the state before that change.
        if (readAgain) onNotification();
      },
      () => {
        // PostgreSQL could not answer, and it does not repeat a notification.
        clearTimeout(retry);
        retry = setTimeout(onNotification, READ_RETRY_MS);
      },
    );
  }

  const unwatch = transactionChanges.watch(clientId, transactionId, onNotification);
  const { rail } = first;
  const refreshTimer =
    rail === null ? undefined : setInterval(() => void refresh(clientId, transactionId, rail), refreshMs);
  return {
    latest: () => latest,
    onChange: (called) => {
      listener = called;
    },
    read,
    stop() {
      stopped = true;
      unwatch();
      clearInterval(refreshTimer);
      clearTimeout(retry);
    },
  };
}
