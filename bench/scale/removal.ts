import { setTimeout as wait } from 'node:timers/promises';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import type { RetentionScan } from '../../apps/server/src/postgres/retention/scan.ts';
import { scanTransactions } from '../../apps/server/src/postgres/retention/transactions.ts';

/** As the service does (app/retention.ts, postgres/retention.ts). */
const BATCH = 1_000;
const PAUSES_PER_BATCH = 4;
const PAUSE_MIN_MS = 50;

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

/** Removes events and transactions side by side, each in batches with the service's statements and pauses. */
export function createRemoval(database: Database): Removal {
  const events = { scan: scanEvents(database, BATCH), removed: 0, isDone: false };
  const transactions = { scan: scanTransactions(database, BATCH), removed: 0, isDone: false };
  let stopping = new AbortController();
  let running: Promise<unknown> = Promise.resolve();

  async function remove(records: { scan: RetentionScan; removed: number; isDone: boolean }, before: Date) {
    const { signal } = stopping;
    while (!signal.aborted && !records.isDone) {
      const startedMs = performance.now();
      const count = await records.scan.deleteBatch(before);
      records.removed += count;
      records.isDone = count === 0 && !records.scan.hasMore();
      const pauseMs = Math.max(PAUSE_MIN_MS, (performance.now() - startedMs) * PAUSES_PER_BATCH);
      await wait(pauseMs, undefined, { signal }).catch(() => {});
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
