import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';

const INTERVAL_MS = 60_000;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface RetentionOptions {
  /** For the log. */
  readonly records: string;
  readonly days: number;
  /** Clears away some of what is from before then, few enough that nobody waits for them. Whether there may be more. */
  readonly deleteBatch: (before: Date) => Promise<boolean>;
  readonly log: Log;
}

/** Clears away what is older than so many days, little by little, again and again. */
export function startRetention({ records, days, deleteBatch, log }: RetentionOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();

  async function clearOld(): Promise<void> {
    const before = new Date(Date.now() - days * DAY_MS);
    while (!stopping.signal.aborted && (await deleteBatch(before)));
  }

  const clearing = repeat(INTERVAL_MS, clearOld, (error) =>
    log.warn({ err: error, what: records }, 'what is old could not be cleared away; it is tried again'),
  );
  return {
    async stop() {
      stopping.abort();
      await clearing.stop();
    },
  };
}
