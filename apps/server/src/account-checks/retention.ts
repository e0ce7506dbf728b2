import type { Log } from '../observability/log.ts';
import { deleteAccountChecks } from '../postgres/account-checks.ts';
import type { Database } from '../postgres/database.ts';
import { repeat } from '../repeat.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const INTERVAL_MS = 60_000;
/** Few enough that nobody waits for them. */
const AT_ONCE = 1_000;

/** Deletes the records of account checks that are older than so many days, little by little. */
export function startRetention(database: Database, days: number, log: Log): { stop(): Promise<void> } {
  const stopping = new AbortController();
  async function deleteOld(): Promise<void> {
    const before = new Date(Date.now() - days * DAY_MS).toISOString();
    let deleted = AT_ONCE;
    while (deleted === AT_ONCE && !stopping.signal.aborted)
      deleted = await deleteAccountChecks(database, before, AT_ONCE);
  }
  const deleting = repeat(INTERVAL_MS, deleteOld, (error) =>
    log.warn({ err: error }, 'old records of account checks could not be deleted; it is tried again'),
  );
  return {
    async stop() {
      stopping.abort();
      await deleting.stop();
    },
  };
}
