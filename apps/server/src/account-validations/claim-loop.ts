import { setTimeout as wait } from 'node:timers/promises';
import type { BankDirectory } from '../domain/bank.ts';
import type { Log } from '../observability/log.ts';
import { type ClaimedRow, claimRows, type ValidationQueue } from '../postgres/account-validation-rows.ts';
import type { Database } from '../postgres/database.ts';
import type { AccountInquiries } from '../rails/account-inquiries.ts';
import type { InFlightRows } from './in-flight-rows.ts';
import { type CapacityShare, queueKey, shareCapacity, type ValidationQueues } from './queues.ts';

/** Claims waiting rows as fast as the banks have capacity, and starts them. */
export interface ClaimLoop {
  /** Starts to claim, unless the loop runs already, no row waits, or the loop was stopped. */
  start(): void;
  /** Claims nothing more. Resolves when the claim in progress has ended. */
  stop(): Promise<void>;
}

export interface ClaimLoopDependencies {
  readonly database: Database;
  readonly banks: BankDirectory;
  readonly inquiries: Pick<AccountInquiries, 'spareCapacity' | 'isClosedTo'>;
  readonly queues: ValidationQueues;
  readonly inFlight: Pick<InFlightRows, 'start' | 'countAt'>;
  readonly log: Log;
}

/** The time between two claims, unless PostgreSQL takes longer to answer. */
const CLAIM_INTERVAL_MS = 10;
/** Rows in one claim for one bank. A process that is killed leaves the rows it has claimed without a verdict. */
const CLAIM_MAX = 8;
/** Rows of one bank that are in flight or being recorded, at most, even where the bank's protection allows more. */
const IN_FLIGHT_MAX = 32;
/**
 * Measured from the start of this process. A process that was killed just before may have used up the quota of a second
 * without a trace; by this time that second is over. Inquiries of single checks cannot wait, so they do not.
 */
const QUOTAS_FRESH_MS = 1_000;

export function createClaimLoop(dependencies: ClaimLoopDependencies): ClaimLoop {
  const { database, banks, inquiries, queues, inFlight, log } = dependencies;
  const stopping = new AbortController();
  let isRunning = false;
  let running = Promise.resolve();

  /** Rows of a client for which the bank is closed would be claimed and released without end. */
  function isServed({ bic, clientId }: ValidationQueue): boolean {
    const bank = banks.find(bic);
    return bank === null || !inquiries.isClosedTo(bank, clientId);
  }

  /** Runs until no row is waiting that could be claimed. */
  async function run(): Promise<void> {
    await wait(Math.max(QUOTAS_FRESH_MS - performance.now(), 0));
    while (queues.list().length > 0 && !stopping.signal.aborted) {
      const startMs = performance.now();
      const shares = shareCapacity(queues.list().filter(isServed), claimCapacity(dependencies));
      if (shares.length > 0) {
        const rows = await claimRows(database, shares);
        for (const row of rows) inFlight.start(row);
        queues.remove(exhausted(shares, rows));
        queues.rotate();
      }
      await wait(Math.max(startMs + CLAIM_INTERVAL_MS - performance.now(), 0));
    }
  }

  return {
    start() {
      if (isRunning || queues.list().length === 0 || stopping.signal.aborted) return;
      isRunning = true;
      running = run()
        .catch((error: unknown) => log.warn({ err: error }, 'claiming account validation rows failed; will retry'))
        .finally(() => (isRunning = false));
    },
    stop() {
      stopping.abort();
      return running;
    },
  };
}

/** The capacity of each bank for one claim. Banks behind one rail share it: what one gets, the others do not. */
function claimCapacity({ banks, inquiries, inFlight }: ClaimLoopDependencies): (bic: string) => number {
  const givenByRail = new Map<string, number>();
  return (bic) => {
    const bank = banks.find(bic);
    const slots = Math.min(IN_FLIGHT_MAX - inFlight.countAt(bic), CLAIM_MAX);
    if (bank === null) return slots;
    const { rail, capacity } = inquiries.spareCapacity(bank);
    if (rail === null) return Math.min(capacity, slots);
    const given = givenByRail.get(rail) ?? 0;
    const share = Math.max(Math.min(capacity - given, slots), 0);
    givenByRail.set(rail, given + share);
    return share;
  };
}

/** The queues that gave fewer rows than they could have: no more rows are waiting in them. */
function exhausted(shares: readonly CapacityShare[], rows: readonly ClaimedRow[]): CapacityShare[] {
  const claimed = Map.groupBy(rows, queueKey);
  return shares.filter((share) => (claimed.get(queueKey(share))?.length ?? 0) < share.limit);
}
