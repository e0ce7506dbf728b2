import { setTimeout as wait } from 'node:timers/promises';
import { createInTurn } from '../../apps/server/src/lib/in-turn.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import { pauseMsAfter, RECORDS_PER_BATCH, timed } from '../../apps/server/src/postgres/retention/retention.ts';
import type { RetentionScan } from '../../apps/server/src/postgres/retention/scan.ts';
import { scanTransactions } from '../../apps/server/src/postgres/retention/transactions.ts';

/** What is removed: records from before these times, ISO 8601 UTC. */
export interface RemovalRange {
  readonly eventsBefore: string;
  readonly transactionsBefore: string;
}

export interface Removed {
  readonly events: number;
  readonly transactions: number;
  /** Whether nothing is left to remove. */
  readonly isDone: boolean;
}

/** Retention that begins and pauses on command, in the process of the service. */
export interface Removal {
  begin(range: RemovalRange): void;
  /** Resolves to what has been removed since the start. */
  pause(): Promise<Removed>;
}

/** Removes events and transactions, each in batches with the service's statements, pauses and turns. */
export function createRemoval(database: Database): Removal {
  const events = { scan: scanEvents(database, RECORDS_PER_BATCH), removed: 0, isDone: false };
  const transactions = { scan: scanTransactions(database, RECORDS_PER_BATCH), removed: 0, isDone: false };
  const inTurn = createInTurn();
  let stopping = new AbortController();
  let running: Promise<unknown> = Promise.resolve();

  async function remove(records: { scan: RetentionScan; removed: number; isDone: boolean }, before: Date) {
    const { signal } = stopping;
    while (!signal.aborted && !records.isDone) {
      const { count, durationMs } = await inTurn(() => timed(() => records.scan.deleteBatch(before)));
      records.removed += count;
      records.isDone = !records.scan.hasMore();
      await wait(pauseMsAfter(durationMs), undefined, { signal }).catch(() => {});
    }
  }

  return {
    begin({ eventsBefore, transactionsBefore }) {
      stopping = new AbortController();
      running = Promise.all([
        remove(events, new Date(eventsBefore)),
        remove(transactions, new Date(transactionsBefore)),
      ]);
      // `pause` reports it.
      running.catch(() => {});
    },
    async pause() {
      stopping.abort();
      await running;
      return {
        events: events.removed,
        transactions: transactions.removed,
        isDone: events.isDone && transactions.isDone,
      };
    },
  };
}
