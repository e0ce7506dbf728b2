import type { BankDirectory } from '../domain/bank.ts';
import { repeat } from '../lib/repeat.ts';
import type { Log } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';
import type { Rail } from '../rails/rail.ts';
import type { TransactionUpdater } from '../transactions/transaction-updater.ts';
import { createAdaptiveConcurrency } from './adaptive-concurrency.ts';
import { createInFlightInquiries } from './in-flight.ts';
import { type InquiryRail, supportsStatusInquiry } from './inquiry-rail.ts';
import { createInquiryOutcomes } from './outcomes.ts';
import { createPoller } from './poller.ts';
import { createRecentInquiries } from './recent-inquiries.ts';
import { createRefreshOnRead } from './refresh-on-read.ts';

export interface StatusInquiriesDependencies {
  readonly database: Database;
  readonly transactionUpdater: TransactionUpdater;
  readonly rails: readonly Rail[];
  readonly banks: BankDirectory;
  readonly metrics: Pick<Metrics, 'statusInquiries' | 'transfersForReview'>;
  readonly log: Log;
  /** A transaction that was asked about longer ago than this is asked about again when somebody reads it. */
  readonly staleMs: number;
  /** A reader is answered with what is known when the bank takes longer. 300 ms, unless told otherwise. */
  readonly readerWaitsMs?: number;
  /** How long a bank may know nothing of a transfer before a person shall look into it. An hour, unless told otherwise. */
  readonly unknownGraceMs?: number;
  /** The time for `refresh` and `start`. */
  readonly now?: () => Date;
}

/** Asks banks about transfers in PROCESS, so that a lost notification never leaves money "in process" for ever. */
export interface StatusInquiries {
  /**
   * Has the bank asked about a transaction that somebody reads, when that was long ago. Resolves when the answer is
   * stored, at once when there is nothing to ask, and after `readerWaitsMs` in any case; with whether anybody was
   * asked. Never rejects.
   */
  refresh(clientId: string, transactionId: string): Promise<boolean>;
  /**
   * Asks what the schedule says is due by `now`, at each rail as much as it bears; resolves when the answers are stored,
   * with how many questions there were.
   * @throws DatabaseUnavailable
   */
  poll(now: Date): Promise<number>;
  /** Asks by itself from now on. */
  start(): void;
  /** Cuts short what is being asked: somebody else, or the next start, goes on. */
  close(): Promise<void>;
}

export const READER_WAITS_MS = 300;
const UNKNOWN_GRACE_MS = 60 * 60_000;
const INTERVAL_MS = 1_000;

export function createStatusInquiries(dependencies: StatusInquiriesDependencies): StatusInquiries {
  const { database, transactionUpdater, metrics, log, staleMs } = dependencies;
  const { readerWaitsMs = READER_WAITS_MS, unknownGraceMs = UNKNOWN_GRACE_MS, now = () => new Date() } = dependencies;
  const rails = new Map(
    dependencies.rails.filter(supportsStatusInquiry).map((rail): [string, InquiryRail] => {
      const concurrency = createAdaptiveConcurrency((troubled) => {
        if (troubled) log.warn({ rail: rail.name }, 'the bank does not answer about transfers: it is asked less');
        else log.info({ rail: rail.name }, 'the bank answers about transfers as before');
      });
      const outcomes = createInquiryOutcomes(rail.name, { database, transactionUpdater, metrics, log, unknownGraceMs });
      return [rail.name, { rail, concurrency, outcomes }];
    }),
  );
  const inFlight = createInFlightInquiries({ banks: dependencies.banks, metrics, log });
  const recentInquiries = createRecentInquiries();
  const rounds = createPoller({ database, rails, inFlight, recentInquiries, log });
  const refreshing = createRefreshOnRead({
    database,
    rails,
    inFlight,
    recentInquiries,
    staleMs,
    readerWaitsMs,
    now,
    log,
  });
  let loop: ReturnType<typeof repeat> | undefined;

  return {
    refresh: refreshing.refresh,
    async poll(due) {
      const asked = await Promise.all(await rounds.begin(due));
      await inFlight.ended();
      return asked.reduce((sum, each) => sum + each, 0);
    },
    start() {
      loop ??= repeat(
        INTERVAL_MS,
        () => rounds.begin(now()),
        (error) => log.warn({ err: error }, 'which banks are to be asked could not be found out; it is tried again'),
      );
    },
    async close() {
      await loop?.stop();
      inFlight.close();
      await rounds.close();
      await refreshing.close();
      await inFlight.ended();
    },
  };
}
