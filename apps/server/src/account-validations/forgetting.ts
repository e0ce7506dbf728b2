import type { Log } from '../observability/log.ts';
import { deleteEnded, listRunning } from '../postgres/account-validations.ts';
import type { Database } from '../postgres/database.ts';
import { repeat } from '../repeat.ts';
import { storeCancellation } from './store.ts';

const INTERVAL_MS = 60_000;
const ROWS_AT_ONCE = 5_000;
const JOBS_AT_ONCE = 100;
const DAY_MS = 24 * 60 * 60 * 1000;
/** A job that nothing has come of by then, because its client or its bank is gone, shall not keep names for ever. */
const RUNNING_DAYS_MAX = 30;

/** Forgets jobs, with the names and account numbers in them, so many days after they have ended. */
export function forgetEndedValidations(database: Database, days: number, log: Log): { stop(): Promise<void> } {
  const stopping = new AbortController();

  async function forget(): Promise<void> {
    const tooOld = new Date(Date.now() - RUNNING_DAYS_MAX * DAY_MS).toISOString();
    for (const job of await listRunning(database, JOBS_AT_ONCE)) {
      if (job.createdAt < tooOld) await storeCancellation(database, job);
    }
    const endedBefore = new Date(Date.now() - days * DAY_MS);
    while (!stopping.signal.aborted && (await deleteEnded(database, endedBefore, ROWS_AT_ONCE)));
  }

  const forgetting = repeat(INTERVAL_MS, forget, (error) =>
    log.warn({ err: error }, 'ended account validations could not be forgotten; it is tried again'),
  );
  return {
    async stop() {
      stopping.abort();
      await forgetting.stop();
    },
  };
}
