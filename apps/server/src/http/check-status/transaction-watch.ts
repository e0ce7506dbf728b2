import type { FoundTransaction, TransactionLookUp } from '../../postgres/transaction-look-up.ts';
import type { TransactionChanges } from '../../transactions/transaction-changes.ts';

export interface TransactionWatchDependencies {
  readonly lookUp: TransactionLookUp;
  readonly transactionChanges: Pick<TransactionChanges, 'watch'>;
  /** Has the bank asked, if that was long ago; resolves when its answer is stored, or soon in any case. */
  readonly refresh: (clientId: string, transactionId: string) => Promise<unknown>;
  /** How often the bank is asked anew while somebody looks on, in milliseconds. */
  readonly refreshMs: number;
}

/** A view of one transaction that follows its changes. */
export interface TransactionWatch {
  latest(): FoundTransaction;
  /** Called after each change, with what is then known. */
  onChange(changed: (found: FoundTransaction) => void): void;
  /** Looks again; what PostgreSQL cannot tell now is an error. */
  read(): Promise<FoundTransaction>;
  end(): void;
}

const READ_AGAIN_MS = 1_000;

export function createTransactionWatches({
  lookUp,
  transactionChanges,
  refresh,
  refreshMs,
}: TransactionWatchDependencies) {
  const look = (clientId: string, transactionId: string): Promise<FoundTransaction> =>
    new Promise((resolve, reject) => {
      lookUp.find(clientId, transactionId, true, (error, found) => {
        if (found !== null) resolve(found);
        else reject(error ?? new Error('a transaction that was there is gone'));
      });
    });

  function view(clientId: string, transactionId: string, first: FoundTransaction): TransactionWatch {
    let latest = first;
    let listener: ((found: FoundTransaction) => void) | undefined;
    let reading: Promise<FoundTransaction> | undefined;
    let again = false;
    let ended = false;
    let retry: NodeJS.Timeout | undefined;

    function read(): Promise<FoundTransaction> {
      again = reading !== undefined;
      return (reading ??= look(clientId, transactionId)
        .then((found) => {
          latest = found;
          return found;
        })
        .finally(() => {
          reading = undefined;
        }));
    }
    const changed = (): void => {
      if (ended) return;
      read().then(
        (found) => {
          if (ended) return;
          listener?.(found);
          // What was read may be from before the change that was heard of meanwhile.
          if (again) changed();
        },
        () => {
          // PostgreSQL could not tell now. Nobody else will tell of this change again.
          clearTimeout(retry);
          retry = setTimeout(changed, READ_AGAIN_MS);
        },
      );
    };
    const unwatch = transactionChanges.watch(clientId, transactionId, changed);
    const refreshing =
      first.progress === 'inquirable' ? setInterval(() => void refresh(clientId, transactionId), refreshMs) : undefined;
    return {
      latest: () => latest,
      onChange: (call) => {
        listener = call;
      },
      read,
      end() {
        ended = true;
        unwatch();
        clearInterval(refreshing);
        clearTimeout(retry);
      },
    };
  }

  return { look, view };
}
