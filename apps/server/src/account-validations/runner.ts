import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { AccountChecks } from '../account-checks/account-checks.ts';
import { AccountNumber } from '../domain/account.ts';
import type { BankDirectory } from '../domain/bank.ts';
import { keyOf } from '../domain/identifiers.ts';
import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { NewResult } from '../postgres/account-validation-results.ts';
import {
  type ClaimedRow,
  claimRows,
  findAbandonedRows,
  findQueues,
  type RowKey,
  type ValidationQueue,
} from '../postgres/account-validation-rows.ts';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { ABANDONED, dispositionOf, NO_VERDICT, type RowDisposition } from './disposition.ts';
import { createResultWriter } from './result-writer.ts';
import { shareCapacity } from './share-capacity.ts';
import { storeResults } from './store.ts';

/**
 * Asks banks about the rows that wait, as fast as each bank's contract allows, and keeps what they say. What waits stands
 * in `tiba.account_validation_rows` and nowhere else, and any number of processes take from it. A row is taken before its
 * bank is asked and never taken again, so that no bank is asked twice about an account of one job, whoever is killed.
 */
export interface ValidationRunner {
  /** There may be something new. */
  wake(): void;
  /** Takes up nothing more, and gives what is under way some seconds to end. Safe to call twice. */
  close(): Promise<void>;
}

export interface ValidationRunnerDependencies {
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly accountChecks: AccountChecks;
  readonly inquiries: Pick<AccountInquiries, 'spareCapacity'>;
  readonly metrics: Pick<Metrics, 'validationRows'>;
  readonly log: Log;
}

/** From one claim to the next, when PostgreSQL answers sooner. */
const CLAIM_INTERVAL_MS = 10;
/** Of one claim, for one bank: whoever is killed leaves what he has taken behind, without a verdict. */
const CLAIMED_AT_ONCE = 8;
/** Other processes have new jobs as well, and banks come back. */
const LOOK_INTERVAL_MS = 1_000;
/** Longer than an inquiry can take and be recorded. */
const ABANDONED_AFTER_MS = 15_000;
const ABANDONED_AT_ONCE = 500;
const STEADY_LOOKS = 5;
/** What is being asked of one bank, or recorded, at most: also where its protection allows more. */
const IN_HAND_MAX = 32;
const CLOSE_TIMEOUT_MS = 6_000;
/**
 * From the start of this process. One that was killed just before may have used up what contracts allow in a second, which
 * nobody kept; by then that second is over. Questions that cannot wait do not.
 */
const QUOTAS_FRESH_MS = 1_000;
/** Shorter ones only slow a client down, and come again and again. */
const TOLD_HOLD_MS = 10_000;

export function createValidationRunner(dependencies: ValidationRunnerDependencies): ValidationRunner {
  const { database, banks, accountChecks, inquiries, metrics, log } = dependencies;
  const closing = new AbortController();
  const abandoned = new AbortController();
  const recording = createResultWriter(database, log, abandoned.signal);
  const inHand = new Map<string, number>();
  const underWay = new Map<string, Promise<void>>();
  /** Jobs that were held since the last look. */
  const held = new Set<string>();
  let queues: ValidationQueue[] = [];
  let asking = Promise.resolve();
  let isAsking = false;
  let looksInARow = 0;

  /** For one claim: what is given to one bank, others behind the same rail do not have. */
  function createRooms(): (bic: string) => number {
    const given = new Map<string, number>();
    return (bic) => {
      const bank = banks.find(bic);
      const places = Math.min(IN_HAND_MAX - (inHand.get(bic) ?? 0), CLAIMED_AT_ONCE);
      if (bank === null) return places;
      const { rail, capacity } = inquiries.spareCapacity(bank);
      if (rail === null) return Math.min(capacity, places);
      const room = Math.max(Math.min(capacity - (given.get(rail) ?? 0), places), 0);
      given.set(rail, (given.get(rail) ?? 0) + room);
      return room;
    };
  }

  /** Until nothing waits that can be asked about. */
  async function askAll(): Promise<void> {
    await wait(Math.max(QUOTAS_FRESH_MS - performance.now(), 0));
    while (queues.length > 0 && !closing.signal.aborted) {
      const beganMs = performance.now();
      const shares = shareCapacity(queues, createRooms());
      if (shares.length > 0) {
        const rows = await claimRows(database, shares);
        for (const row of rows) take(row);
        const claimed = Map.groupBy(rows, keyOfQueue);
        const isEmpty = new Set(
          shares.filter((share) => (claimed.get(keyOfQueue(share))?.length ?? 0) < share.limit).map(keyOfQueue),
        );
        queues = queues.filter((queue) => !isEmpty.has(keyOfQueue(queue)));
        // Another one is the first to be given what cannot be divided.
        queues.push(...queues.splice(0, 1));
      }
      await wait(Math.max(beganMs + CLAIM_INTERVAL_MS - performance.now(), 0));
    }
  }

  function take(row: ClaimedRow): void {
    inHand.set(row.bic, (inHand.get(row.bic) ?? 0) + 1);
    const done = settle(row).finally(() => {
      underWay.delete(keyOfRow(row));
      inHand.set(row.bic, (inHand.get(row.bic) ?? 1) - 1);
    });
    underWay.set(keyOfRow(row), done);
  }

  async function settle(row: ClaimedRow): Promise<void> {
    const fate = await ask(row);
    const { clientId, validationId, rowNumber, claimedAt } = row;
    if (fate.kind === 'result') {
      metrics.validationRows.inc({ result: fate.result.result });
      const checkedAt = new Date().toISOString();
      await recording.result({ clientId, validationId, rowNumber, ...fate.result, checkedAt });
      return;
    }
    if (fate.holdMs !== null) await hold(row, fate.holdMs);
    await recording.release({ clientId, validationId, rowNumber, claimedAt });
  }

  async function ask({ clientId, bic, accountNumber: digits }: ClaimedRow): Promise<RowDisposition> {
    const bank = banks.find(bic);
    const accountNumber = AccountNumber.parse(digits);
    // A bank may leave the directory with a new version of this program.
    if (bank === null || accountNumber === null) return NO_VERDICT;
    // Others may have taken the room meanwhile.
    if (inquiries.spareCapacity(bank).capacity === 0) return { kind: 'wait', holdMs: null };
    try {
      return dispositionOf(await accountChecks.check({ clientId }, { bank, accountNumber }));
    } catch (error) {
      // No record could be kept of it, so no bank was asked.
      if (error instanceof DatabaseUnavailable) return { kind: 'wait', holdMs: null };
      log.error({ err: error, clientId, bic }, 'an account could not be checked');
      return NO_VERDICT;
    }
  }

  /** The job's client is over a bound of its checks: nobody takes more of it until then. */
  async function hold({ clientId, validationId }: ClaimedRow, holdMs: number): Promise<void> {
    const key = keyOf(clientId, validationId);
    if (held.has(key)) return;
    held.add(key);
    queues = queues.filter((queue) => queue.clientId !== clientId || queue.validationId !== validationId);
    if (holdMs >= TOLD_HOLD_MS) log.warn({ clientId, validationId, holdMs }, 'an account validation is held');
    await recording.hold({ clientId, validationId }, holdMs);
  }

  async function endAbandoned(): Promise<void> {
    const found = await findAbandonedRows(database, ABANDONED_AFTER_MS, ABANDONED_AT_ONCE);
    // What is in hand here waits for PostgreSQL to take it.
    const rows = found.filter((row) => !underWay.has(keyOfRow(row)));
    if (rows.length === 0) return;
    log.warn({ rows: rows.length }, 'rows of account validations were left by a process that ended: no verdict');
    const checkedAt = new Date().toISOString();
    const withoutVerdict = (row: RowKey): NewResult => ({ ...row, ...ABANDONED.result, checkedAt });
    await storeResults(database, rows.map(withoutVerdict));
  }

  function begin(): void {
    if (isAsking || queues.length === 0 || closing.signal.aborted) return;
    isAsking = true;
    asking = askAll()
      .catch((error: unknown) => log.warn({ err: error }, 'rows could not be taken; it is tried again'))
      .finally(() => (isAsking = false));
  }

  async function look(): Promise<void> {
    queues = await findQueues(database);
    held.clear();
    // Only after PostgreSQL has answered for a while: others may have results to record that it could not take.
    looksInARow += 1;
    begin();
    if (looksInARow > STEADY_LOOKS) await endAbandoned();
  }

  const onLookFailed = (error: unknown): void => {
    looksInARow = 0;
    log.warn({ err: error }, 'account validations could not be looked for; it is tried again');
  };
  const wake = (): void => void look().catch(onLookFailed);
  const looking = repeat(LOOK_INTERVAL_MS, look, onLookFailed);
  wake();

  async function end(): Promise<void> {
    closing.abort();
    await looking.stop();
    await asking;
    const timer = setTimeout(() => abandoned.abort(), CLOSE_TIMEOUT_MS);
    await Promise.race([Promise.all(underWay.values()), once(abandoned.signal, 'abort')]);
    clearTimeout(timer);
    abandoned.abort();
  }

  let ended: Promise<void> | undefined;
  return {
    wake,
    close: () => (ended ??= end()),
  };
}

const keyOfRow = ({ clientId, validationId, rowNumber }: RowKey): string =>
  `${keyOf(clientId, validationId)} ${rowNumber}`;

const keyOfQueue = ({ clientId, validationId, bic }: ValidationQueue): string =>
  `${keyOf(clientId, validationId)} ${bic}`;
