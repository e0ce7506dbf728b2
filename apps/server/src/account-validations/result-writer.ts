import { createBatcher } from '../lib/batcher.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { NewResult } from '../postgres/account-validation-results.ts';
import { type Claim, releaseRows } from '../postgres/account-validation-rows.ts';
import { pauseValidation, type ValidationKey } from '../postgres/account-validations.ts';
import { type Database, retryWhileUnavailable } from '../postgres/database.ts';
import { storeResults } from './validation-writes.ts';

/** Records what happened to claimed rows, in batches. Waits while PostgreSQL is unavailable. No method rejects. */
export interface ResultWriter {
  record(result: NewResult): Promise<void>;
  /** No inquiry was sent: any process may claim the row again. */
  release(claim: Claim): Promise<void>;
  /** The client is blocked: no rows of the validation are claimed for this time. */
  pause(validation: ValidationKey, pauseMs: number): Promise<void>;
}

const BATCH_MAX = 256;

/** `signal` ends the retries: the process is closing. */
export function createResultWriter(database: Database, log: Log, signal: AbortSignal): ResultWriter {
  const retryOptions = {
    signal,
    report: createFailureLog(log, 'recording account validation results failed; will retry'),
  };

  async function write(action: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(action, retryOptions);
    } catch (error) {
      log.error({ err: error }, 'recording account validation results failed: their rows end without a verdict');
    }
  }

  const results = createBatcher<NewResult>((batch) => write(() => storeResults(database, batch)), BATCH_MAX);
  const releases = createBatcher<Claim>((batch) => write(() => releaseRows(database, batch)), BATCH_MAX);
  return {
    record: results.add,
    release: releases.add,
    pause: (validation, pauseMs) => write(() => pauseValidation(database, validation, pauseMs)),
  };
}
