import { createBatcher } from '../lib/batcher.ts';
import type { Log } from '../observability/log.ts';
import type { NewResult } from '../postgres/account-validation-results.ts';
import { type Claim, releaseRows } from '../postgres/account-validation-rows.ts';
import { pauseValidation, type ValidationKey } from '../postgres/account-validations.ts';
import type { Database } from '../postgres/database.ts';
import { retryWhileUnavailable } from '../postgres/database.ts';
import { storeResults } from './store.ts';

/** Keeps what came of rows that were taken, many at a time. While PostgreSQL cannot answer it waits; nothing rejects. */
export interface ResultWriter {
  result(result: NewResult): Promise<void>;
  /** No bank was asked: others may take it. */
  release(claim: Claim): Promise<void>;
  /** Its client has to wait. */
  hold(validation: ValidationKey, holdMs: number): Promise<void>;
}

const BATCH_MAX = 256;

/** `signal`: nobody waits any longer. */
export function createResultWriter(database: Database, log: Log, signal: AbortSignal): ResultWriter {
  const patience = {
    signal,
    onUnavailable: (error: unknown) =>
      log.warn({ err: error }, 'results of account validations could not be recorded yet; it is tried again'),
  };

  async function keep(write: () => Promise<void>): Promise<void> {
    try {
      await retryWhileUnavailable(write, patience);
    } catch (error) {
      log.error({ err: error }, 'results of account validations could not be recorded: no verdict for their rows');
    }
  }

  const results = createBatcher<NewResult>((batch) => keep(() => storeResults(database, batch)), BATCH_MAX);
  const released = createBatcher<Claim>((batch) => keep(() => releaseRows(database, batch)), BATCH_MAX);
  return {
    result: results.add,
    release: released.add,
    hold: (validation, holdMs) => keep(() => pauseValidation(database, validation, holdMs)),
  };
}
