import { once } from 'node:events';
import type { AccountChecks } from '../account-checks/account-checks.ts';
import { type BankDirectory, parseAccountNumber } from '../domain/bank.ts';
import { keyOf } from '../domain/identifiers.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type Span, type Tracing, traceFields } from '../observability/tracing/tracing.ts';
import type { ClaimedRow, RowKey } from '../postgres/account-validation-rows.ts';
import { type Database, DatabaseUnavailable } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import { dispositionOf, NO_VERDICT, type RowDisposition } from './disposition.ts';
import type { ValidationQueues } from './queues.ts';
import { createResultWriter } from './result-writer.ts';

/** The rows that this process has claimed: each is checked, then recorded or released. */
export interface InFlightRows {
  start(row: ClaimedRow): void;
  /** How many rows of a bank are in flight. */
  countAt(bic: string): number;
  has(row: RowKey): boolean;
  /** Resolves when all rows are recorded or released, or after 6 seconds. */
  close(): Promise<void>;
}

export interface InFlightRowsDependencies {
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly accountChecks: AccountChecks;
  readonly inquiries: Pick<AccountInquiries, 'spareCapacity' | 'isClosedTo'>;
  readonly queues: Pick<ValidationQueues, 'pause'>;
  /** PostgreSQL's time: milliseconds since 1970. */
  readonly now: () => number;
  readonly metrics: Pick<Metrics, 'validationRows'>;
  readonly log: Log;
  readonly tracing?: Tracing | null;
}

const CLOSE_TIMEOUT_MS = 6_000;
/** Shorter pauses only slow a client down and come often, so they are not logged. */
const LOGGED_PAUSE_MS = 10_000;

export function createInFlightRows(dependencies: InFlightRowsDependencies): InFlightRows {
  const { database, queues, now, metrics, log, tracing = null } = dependencies;
  const givenUp = new AbortController();
  const writer = createResultWriter(database, log, givenUp.signal);
  const counts = new Map<string, number>();
  const rows = new Map<string, Promise<void>>();

  async function finish(row: ClaimedRow): Promise<void> {
    const { clientId, validationId, rowNumber, claimedAt } = row;
    const span = tracing === null ? undefined : beginRow(tracing, row);
    const disposition = await check(row, dependencies, span);
    span?.end({ 'tiba.outcome': disposition.kind === 'result' ? disposition.result.result : disposition.kind });
    if (disposition.kind === 'result') {
      metrics.validationRows.inc({ result: disposition.result.result });
      const checkedAt = new Date(now()).toISOString();
      await writer.record({ clientId, validationId, rowNumber, ...disposition.result, checkedAt });
      return;
    }
    if (disposition.pauseMs !== null) await pauseValidation(row, disposition.pauseMs);
    await writer.release({ clientId, validationId, rowNumber, claimedAt });
  }

  /** The enumeration guard blocks the client: no process claims rows of the validation until `held_until`. */
  async function pauseValidation({ clientId, validationId }: ClaimedRow, pauseMs: number): Promise<void> {
    if (!queues.pause({ clientId, validationId })) return;
    if (pauseMs >= LOGGED_PAUSE_MS)
      log.warn(
        { clientId, validationId, pauseMs },
        'account validation paused: the enumeration guard blocks the client',
      );
    await writer.pause({ clientId, validationId }, pauseMs);
  }

  return {
    start(row) {
      const { bic } = row;
      const key = rowKey(row);
      counts.set(bic, (counts.get(bic) ?? 0) + 1);
      const finished = finish(row).finally(() => {
        rows.delete(key);
        counts.set(bic, (counts.get(bic) ?? 1) - 1);
      });
      rows.set(key, finished);
    },
    countAt: (bic) => counts.get(bic) ?? 0,
    has: (row) => rows.has(rowKey(row)),
    async close() {
      const timer = setTimeout(() => givenUp.abort(), CLOSE_TIMEOUT_MS);
      await Promise.race([Promise.all(rows.values()), once(givenUp.signal, 'abort')]);
      clearTimeout(timer);
      givenUp.abort();
    },
  };
}

/** A trace of its own, which links to the upload: a validation of 50,000 rows would be no trace that can be read. */
function beginRow(tracing: Tracing, { clientId, validationId, rowNumber, bic }: ClaimedRow): Span | undefined {
  const attributes = {
    'tiba.client_id': clientId,
    'tiba.account_validation_id': validationId,
    'tiba.row': rowNumber,
    'tiba.bank': bic,
  };
  const upload = tracing.causes.find(clientId, validationId);
  return tracing.begin('account validation row', 'internal', attributes, upload);
}

async function check(
  { clientId, bic, accountNumber: digits }: ClaimedRow,
  { banks, accountChecks, inquiries, log }: InFlightRowsDependencies,
  span: Span | undefined,
): Promise<RowDisposition> {
  const bank = banks.find(bic);
  const accountNumber = bank === null ? null : parseAccountNumber(bank, digits);
  // A new version of this program may have removed the bank from the directory.
  if (bank === null || accountNumber === null) return NO_VERDICT;
  // Other checks may have used the capacity since the claim.
  if (inquiries.spareCapacity(bank).capacity === 0 || inquiries.isClosedTo(bank, clientId))
    return { kind: 'release', pauseMs: null };
  try {
    return dispositionOf(await accountChecks.check({ clientId, bank, accountNumber, span }));
  } catch (error) {
    // The audit log is full, so no inquiry was sent.
    if (error instanceof DatabaseUnavailable) return { kind: 'release', pauseMs: null };
    const fields = { err: error, clientId, bic, ...traceFields(span) };
    log.error(fields, 'account check failed: the validation row ends without a verdict');
    return NO_VERDICT;
  }
}

const rowKey = ({ clientId, validationId, rowNumber }: RowKey): string =>
  `${keyOf(clientId, validationId)} ${rowNumber}`;
