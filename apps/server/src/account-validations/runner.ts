import type { AccountChecks } from '../account-checks/account-checks.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing/tracing.ts';
import { findQueues } from '../postgres/account-validation-rows.ts';
import type { Database } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { createClaimLoop } from './claim-loop.ts';
import { createInFlightRows } from './in-flight-rows.ts';
import { createValidationQueues } from './queues.ts';
import { endAbandonedRows } from './sweep.ts';

/**
 * Checks the waiting rows as fast as each bank's contract allows, and records their results. Waiting rows exist in
 * `tiba.account_validation_rows` only, and any number of processes claim from it. A row is claimed before its bank is
 * asked, and a claimed row is never claimed again unless it was released without an inquiry. So no bank is asked twice
 * about an account of one validation, even when a process is killed.
 */
export interface ValidationRunner {
  /** Call it when a validation was created. */
  wake(): void;
  /** Claims nothing more, and gives the rows in flight some seconds to end. Safe to call twice. */
  close(): Promise<void>;
}

export interface ValidationRunnerDependencies {
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly accountChecks: AccountChecks;
  readonly inquiries: Pick<AccountInquiries, 'spareCapacity' | 'isClosedTo'>;
  /** PostgreSQL's time: milliseconds since 1970. */
  readonly now: () => number;
  readonly metrics: Pick<Metrics, 'validationRows'>;
  readonly log: Log;
  readonly tracing?: Tracing | null;
}

/** Other processes create validations too, and banks become available again. */
const LOOK_INTERVAL_MS = 1_000;
/**
 * Successful looks in a row before abandoned rows are ended, and the time that they must span, because a look follows
 * each upload at once. PostgreSQL must have answered for a while: other processes may hold results of these rows that
 * it could not take until now.
 */
const STEADY_LOOKS = 5;
const STEADY_MS = STEADY_LOOKS * LOOK_INTERVAL_MS;

export function createValidationRunner(dependencies: ValidationRunnerDependencies): ValidationRunner {
  const { database, log } = dependencies;
  const queues = createValidationQueues();
  const inFlight = createInFlightRows({ ...dependencies, queues });
  const claimLoop = createClaimLoop({ ...dependencies, queues, inFlight });
  let looksInARow = 0;
  let firstLookMs = 0;

  async function look(): Promise<void> {
    queues.replace(await findQueues(database));
    const nowMs = performance.now();
    if (looksInARow === 0) firstLookMs = nowMs;
    looksInARow += 1;
    claimLoop.start();
    const isSteady = looksInARow > STEADY_LOOKS && nowMs - firstLookMs >= STEADY_MS;
    if (isSteady) await endAbandonedRows({ ...dependencies, inFlight });
  }

  const { failed, succeeded } = createFailureLog(log, 'looking for account validation rows failed; will retry');
  function lookFailed(error: unknown): void {
    looksInARow = 0;
    failed(error);
  }

  const looks = repeat(LOOK_INTERVAL_MS, look, { failed: lookFailed, succeeded });
  looks.now();

  async function end(): Promise<void> {
    const claimsEnded = claimLoop.stop();
    await looks.stop();
    await claimsEnded;
    await inFlight.close();
  }

  let ended: Promise<void> | undefined;
  return {
    wake: looks.now,
    close: () => (ended ??= end()),
  };
}
