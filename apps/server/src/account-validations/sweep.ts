import type { Log } from '../observability/log.ts';
import type { NewResult } from '../postgres/account-validation-results.ts';
import { findAbandonedRows, type RowKey } from '../postgres/account-validation-rows.ts';
import type { Database } from '../postgres/database.ts';
import { ABANDONED } from './disposition.ts';
import type { InFlightRows } from './in-flight-rows.ts';
import { storeResults } from './validation-writes.ts';

/** Longer than an inquiry can take and be recorded. */
const ABANDONED_AFTER_MS = 15_000;
const BATCH_MAX = 500;

export interface SweepDependencies {
  readonly database: Database;
  readonly inFlight: Pick<InFlightRows, 'has'>;
  /** PostgreSQL's time: milliseconds since 1970. */
  readonly now: () => number;
  readonly log: Log;
}

/**
 * Ends rows that a killed process had claimed, without a verdict: their banks may have been asked already, and no bank
 * is asked twice about an account of one validation.
 */
export async function endAbandonedRows({ database, inFlight, now, log }: SweepDependencies): Promise<void> {
  const claimed = await findAbandonedRows(database, ABANDONED_AFTER_MS, BATCH_MAX);
  // Rows of this process are not abandoned: they wait until PostgreSQL can record them.
  const abandoned = claimed.filter((row) => !inFlight.has(row));
  if (abandoned.length === 0) return;
  log.warn(
    { rows: abandoned.length },
    'account validation rows were left in flight by a killed process; they end without a verdict',
  );
  const checkedAt = new Date(now()).toISOString();
  const withoutVerdict = (row: RowKey): NewResult => ({ ...row, ...ABANDONED.result, checkedAt });
  await storeResults(database, abandoned.map(withoutVerdict));
}
