import type { BankDirectory } from '../domain/bank.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Span, Tracing } from '../observability/tracing/tracing.ts';
import type { Database } from '../postgres/database.ts';
import type { Rail } from '../rails/rail.ts';
import type { MonotonicClock } from '../rate-limit/sliding-window.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { createAdaptiveConcurrency } from './adaptive-concurrency.ts';
import {
  createInFlightInquiries,
  type InquiryRail,
  type StatusInquiryRail,
  supportsStatusInquiry,
} from './in-flight.ts';
import { createPoller } from './poller.ts';
import { createRecentInquiries, createRefreshOnRead, type InquireNowResult } from './refresh-on-read.ts';
import { createInquiryOutcomes } from './store-outcomes.ts';

export interface StatusInquiriesDependencies {
  readonly database: Database;
  readonly transactionUpdater: TransactionUpdater;
  readonly rails: readonly Rail[];
  readonly banks: BankDirectory;
  readonly metrics: Pick<Metrics, 'statusInquiries' | 'transfersForReview'>;
  readonly log: Log;
  readonly tracing?: Tracing | null;
  /** A read triggers an inquiry if the last one about the transaction is older than this. */
  readonly staleMs: number;
  /** If the bank takes longer, the read returns the stored status. By default 300 ms. */
  readonly refreshTimeoutMs?: number;
  /** The longest wait for a bank's answer to an inquiry. By default 4 s. */
  readonly inquiryTimeoutMs?: number;
  /** How long a bank may not know a transfer before a person has to review it. By default one hour. */
  readonly unknownGraceMs?: number;
  /** Paces inquiries within this process; PostgreSQL's clock decides which are due. */
  readonly clock?: MonotonicClock;
}

/** Status inquiries about transfers in PROCESS, so that a lost notification never leaves a transaction in PROCESS. */
export interface StatusInquiries {
  /** How long after the order the bank expects the first inquiry; undefined where it may be asked at any time. */
  firstInquiryMsOf(rail: string): number | undefined;
  /**
   * Makes an inquiry over this rail about a transaction that is being read, if the last one is older than `staleMs`.
   * Resolves when the answer is stored, at once if there is no inquiry to make, and after `refreshTimeoutMs` at the
   * latest. Resolves with whether there was an inquiry, which may be one that was in flight already. Never rejects.
   * `reader` is the request that reads the transaction, if it is traced.
   */
  refresh(clientId: string, transactionId: string, rail: string, reader?: Span): Promise<boolean>;
  /** As `refresh`, for an operator, who waits for the answer. Resolves with it, or why the bank was not asked. */
  inquireNow(clientId: string, transactionId: string, rail: string): Promise<InquireNowResult>;
  /**
   * Makes the scheduled inquiries that are due, at each rail within its concurrency limit. Resolves when the
   * answers are stored, with the number of inquiries.
   * @throws DatabaseUnavailable
   */
  poll(): Promise<number>;
  /** Polls repeatedly from now on. */
  start(): void;
  /** Uses these rails from now on. Inquiries in flight end over the rails that they began on. */
  replaceRails(rails: readonly Rail[]): void;
  /** Aborts the inquiries in flight and releases their claims: another process, or the next start, repeats them. */
  close(): Promise<void>;
}

export const REFRESH_TIMEOUT_MS = 300;
const INQUIRY_TIMEOUT_MS = 4_000;
const UNKNOWN_GRACE_MS = 60 * 60_000;
const INTERVAL_MS = 1_000;

export function createStatusInquiries(dependencies: StatusInquiriesDependencies): StatusInquiries {
  const {
    database,
    metrics,
    log,
    staleMs,
    refreshTimeoutMs = REFRESH_TIMEOUT_MS,
    inquiryTimeoutMs = INQUIRY_TIMEOUT_MS,
    clock = () => performance.now(),
    tracing = null,
  } = dependencies;
  const rails = new Map<string, InquiryRail>();
  const stopping = new AbortController();
  const inquiryRailOf = createInquiryRails(dependencies, stopping.signal);
  replaceRails(rails, dependencies.rails, inquiryRailOf);
  const { banks } = dependencies;
  const inFlight = createInFlightInquiries({ banks, metrics, log, clock, tracing, timeoutMs: inquiryTimeoutMs });
  const recentInquiries = createRecentInquiries();
  const poller = createPoller({ database, rails, inFlight, recentInquiries, log, clock });
  const refresher = createRefreshOnRead({
    database,
    rails,
    inFlight,
    recentInquiries,
    staleMs,
    refreshTimeoutMs,
    inquiryTimeoutMs,
    clock,
    log,
  });
  let loop: ReturnType<typeof repeat> | undefined;

  return {
    firstInquiryMsOf: (rail) => rails.get(rail)?.rail.firstStatusInquiryMs,
    refresh: refresher.refresh,
    inquireNow: refresher.inquireNow,
    async poll() {
      const counts = await Promise.all(await poller.start());
      await inFlight.whenIdle();
      return counts.reduce((sum, each) => sum + each, 0);
    },
    start() {
      loop ??= repeat(
        INTERVAL_MS,
        poller.start,
        createFailureLog(log, 'finding rails with due status inquiries failed; will retry'),
      );
    },
    replaceRails: (newRails) => replaceRails(rails, newRails, inquiryRailOf),
    async close() {
      await loop?.stop();
      inFlight.close();
      stopping.abort();
      await poller.close();
      await refresher.close();
      await inFlight.whenIdle();
    },
  };
}

/** A rail that stays keeps its concurrency. */
function replaceRails(
  known: Map<string, InquiryRail>,
  rails: readonly Rail[],
  inquiryRailOf: (rail: StatusInquiryRail) => InquiryRail,
): void {
  const former = new Map(known);
  known.clear();
  for (const rail of rails.filter(supportsStatusInquiry)) {
    const kept = former.get(rail.name);
    known.set(rail.name, kept?.rail === rail ? kept : inquiryRailOf(rail));
  }
}

function createInquiryRails(
  { database, transactionUpdater, metrics, log, unknownGraceMs = UNKNOWN_GRACE_MS }: StatusInquiriesDependencies,
  stopping: AbortSignal,
): (rail: StatusInquiryRail) => InquiryRail {
  const dependencies = { database, transactionUpdater, metrics, log, unknownGraceMs, stopping };
  return (rail) => {
    const concurrency = createAdaptiveConcurrency((isFailing) => {
      if (isFailing) log.warn({ rail: rail.name }, 'status inquiries failing; concurrency reduced');
      else log.info({ rail: rail.name }, 'status inquiries recovered: the bank answers again; concurrency rises');
    });
    return { rail, concurrency, outcomes: createInquiryOutcomes(rail.name, dependencies) };
  };
}
