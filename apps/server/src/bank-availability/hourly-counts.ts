import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import { addBankHours, type BankHourBatch, type BankHourCount } from '../postgres/bank-hours.ts';
import { type Database, retryWhileUnavailable } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';

/**
 * Stores how the account inquiries of this process ended, added to those of the other processes, hour by hour.
 * Inquiries only count in memory. A process that is killed loses what it has counted since the last time: at most ten
 * seconds, unless PostgreSQL was unavailable.
 */
export interface HourlyCounts {
  /** Stores what was counted last, and stops. While PostgreSQL is unavailable it gives up soon. */
  close(): Promise<void>;
}

export interface HourlyCountsDependencies {
  readonly database: Database;
  readonly processId: string;
  readonly inquiries: Pick<AccountInquiries, 'takeCounts'>;
  /** PostgreSQL's time: milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Log;
  readonly intervalMs?: number | undefined;
  /** How long `close` tries again while PostgreSQL is unavailable. */
  readonly giveUpAfterMs?: number;
}

const INTERVAL_MS = 10_000;
const GIVE_UP_AFTER_MS = 1_000;
export const HOUR_MS = 60 * 60 * 1_000;
/** Of banks, hours and outcomes that wait while PostgreSQL is unavailable: half a day of a hundred banks. */
const WAITING_MAX = 5_000;

export function startHourlyCounts(dependencies: HourlyCountsDependencies): HourlyCounts {
  const { database, processId, inquiries, now, log, intervalMs = INTERVAL_MS } = dependencies;
  const { giveUpAfterMs = GIVE_UP_AFTER_MS } = dependencies;
  const waiting = new Map<string, BankHourCount>();
  /** What is being stored, until it is known to be stored. */
  let storing: BankHourBatch | null = null;
  let batch = 0;
  let hasDropped = false;

  /** What was counted since the last time counts for the hour that it is now. */
  function collect(): void {
    const hourMs = Math.floor(now() / HOUR_MS) * HOUR_MS;
    for (const { bank, outcome, count, durations } of inquiries.takeCounts()) {
      const key = `${hourMs} ${bank.bic} ${outcome}`;
      const before = waiting.get(key);
      if (before === undefined && waiting.size >= WAITING_MAX) {
        if (!hasDropped) log.warn('counts of account inquiries are dropped until PostgreSQL stores them again');
        hasDropped = true;
        continue;
      }
      waiting.set(key, {
        hourMs,
        bic: bank.bic,
        outcome,
        count: count + (before?.count ?? 0),
        durations: durations.map((one, bucket) => one + (before?.durations[bucket] ?? 0)),
      });
    }
  }

  async function store(): Promise<void> {
    collect();
    if (storing === null) {
      if (waiting.size === 0) return;
      batch += 1;
      storing = { processId, batch, counts: [...waiting.values()] };
      waiting.clear();
    }
    await addBankHours(database, storing);
    storing = null;
    hasDropped = false;
  }

  async function storeAll(): Promise<void> {
    await store();
    // What was counted while the batch before could not be stored.
    await store();
  }

  const failures = createFailureLog(log, 'storing how account inquiries ended failed; will retry');
  const loop = repeat(intervalMs, store, failures);
  return {
    async close() {
      await loop.stop();
      await retryWhileUnavailable(storeAll, { signal: AbortSignal.timeout(giveUpAfterMs) });
      if (storing !== null) log.warn('counts of account inquiries lost at shutdown: PostgreSQL is unavailable');
    },
  };
}
