import type { TransactionKey } from '../postgres/transactions.ts';
import { keyOfTransaction } from './in-flight.ts';

/** What this process knows of when transactions were last asked about: reading one again costs no query to find out. */
export interface RecentInquiries {
  note(key: TransactionKey, askedAtMs: number): void;
  /** Milliseconds since 1970; undefined when it is not known. */
  askedAtMs(key: TransactionKey): number | undefined;
}

/** What is forgotten only costs a query. */
const REMEMBERED_MAX = 10_000;

export function createRecentInquiries(): RecentInquiries {
  const asked = new Map<string, number>();
  return {
    note(transaction, askedAtMs) {
      const key = keyOfTransaction(transaction);
      // Set anew it stands last, so that the first is always the one that was not heard of for longest.
      asked.delete(key);
      asked.set(key, askedAtMs);
      if (asked.size <= REMEMBERED_MAX) return;
      for (const first of asked.keys()) {
        asked.delete(first);
        break;
      }
    },
    askedAtMs: (key) => asked.get(keyOfTransaction(key)),
  };
}
