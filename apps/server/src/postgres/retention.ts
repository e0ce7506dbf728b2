import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';
import { type Database, readDatabaseTime } from './database.ts';

const INTERVAL_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface RetentionOptions {
  readonly database: Database;
  /** What is deleted, for the log. */
  readonly records: string;
  readonly days: number;
  /**
   * Deletes some records from before that time, few enough not to block others. Resolves to whether more may be left.
   */
  readonly deleteBatch: (before: Date) => Promise<boolean>;
  readonly log: Log;
}

/**
 * Deletes records that are older than `days` on PostgreSQL's clock, in batches, once a minute. A process whose own
 * clock is ahead would delete records too early.
 */
export function startRetention({ database, records, days, deleteBatch, log }: RetentionOptions): {
  stop(): Promise<void>;
} {
  const stopping = new AbortController();

  async function deleteOld(): Promise<void> {
    const before = new Date((await readDatabaseTime(database)).getTime() - days * DAY_MS);
    while (!stopping.signal.aborted && (await deleteBatch(before)));
  }

  const repeated = repeat(INTERVAL_MS, deleteOld, (error) =>
    log.warn({ err: error, records }, 'deleting old records failed; will retry'),
  );
  return {
    async stop() {
      stopping.abort();
      await repeated.stop();
    },
  };
}
