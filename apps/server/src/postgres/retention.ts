import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';

const INTERVAL_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface RetentionOptions {
  /** What is deleted, for the log. */
  readonly records: string;
  readonly days: number;
  /**
   * Deletes some records from before that time, few enough not to block others. Resolves to whether more may be left.
   */
  readonly deleteBatch: (before: Date) => Promise<boolean>;
  readonly log: Log;
}

/** Deletes records that are older than `days`, in batches, once a minute. */
export function startRetention({ records, days, deleteBatch, log }: RetentionOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();

  async function deleteOld(): Promise<void> {
    const before = new Date(Date.now() - days * DAY_MS);
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
