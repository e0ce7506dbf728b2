import type { Log } from '../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import {
  type ClaimedStatusInquiry,
  claimDueStatusInquiries,
  findRailsWithDueInquiries,
  postponeDueStatusInquiries,
} from '../postgres/status-inquiry-claims.ts';
import type { MonotonicClock } from '../rate-limit/sliding-window.ts';
import { CONCURRENCY_MAX } from './adaptive-concurrency.ts';
import type { InFlightInquiries, InquiryRail, InquiryRails } from './in-flight.ts';
import type { RecentInquiries } from './refresh-on-read.ts';
import { LEASE_MS } from './schedule.ts';

export interface PollerDependencies {
  readonly database: Database;
  readonly rails: InquiryRails;
  readonly inFlight: InFlightInquiries;
  readonly recentInquiries: RecentInquiries;
  readonly log: Log;
  readonly clock: MonotonicClock;
}

/** Makes the status inquiries of the schedule. */
export interface Poller {
  /**
   * Starts the inquiries that are due, at each rail that no earlier call is still working on, so that no bank
   * waits for another. Each promise resolves with a rail's number of inquiries, when the last of them has started.
   */
  start(): Promise<readonly Promise<number>[]>;
  /** Resolves when no more inquiries start. */
  close(): Promise<void>;
}

export function createPoller(dependencies: PollerDependencies): Poller {
  const { database, rails, inFlight, recentInquiries, log, clock } = dependencies;
  const runs = new Map<string, Promise<number>>();
  const unknownRails = createUnknownRails(database, log);
  const closing = new AbortController();

  /** Runs until nothing is due, until the bank fails, or until another rail has taken this one's place. */
  async function run(inquiryRail: InquiryRail): Promise<number> {
    const { name } = inquiryRail.rail;
    const inquiries = new Set<Promise<unknown>>();
    let count = 0;
    while (!closing.signal.aborted && rails.get(name) === inquiryRail) {
      const slots = inquiryRail.concurrency.acquire(CONCURRENCY_MAX, 'schedule', clock());
      if (slots === 0) {
        if (inquiries.size === 0) break;
        await Promise.race(inquiries);
        continue;
      }
      const claims = await claim(database, inquiryRail, slots);
      for (const claimed of claims) {
        recentInquiries.record(claimed, clock());
        const inquiry = inFlight.start(inquiryRail, claimed, 'schedule').finally(() => inquiries.delete(inquiry));
        inquiries.add(inquiry);
      }
      count += claims.length;
      if (claims.length < slots) break;
    }
    return count;
  }

  function startRun(inquiryRail: InquiryRail): Promise<number> {
    const { name } = inquiryRail.rail;
    const started = run(inquiryRail)
      .catch((error: unknown) => {
        log.warn({ err: error, rail: name }, 'claiming due status inquiries failed; will retry');
        return 0;
      })
      .finally(() => runs.delete(name));
    runs.set(name, started);
    return started;
  }

  return {
    async start() {
      const due = await findRailsWithDueInquiries(database);
      const started = due.flatMap((name) => {
        const inquiryRail = rails.get(name);
        return inquiryRail === undefined || runs.has(name) ? [] : [startRun(inquiryRail)];
      });
      for (const name of due) if (!rails.has(name)) await unknownRails.postpone(name);
      return started;
    },
    async close() {
      closing.abort();
      await Promise.all(runs.values());
    },
  };
}

/** Claims as many due inquiries as there are acquired slots, and releases the slots that are left. */
async function claim(
  database: Database,
  { rail, concurrency }: InquiryRail,
  slots: number,
): Promise<ClaimedStatusInquiry[]> {
  let claims: ClaimedStatusInquiry[] = [];
  try {
    claims = await claimDueStatusInquiries(database, {
      rail: rail.name,
      leaseMs: LEASE_MS,
      limit: slots,
    });
    return claims;
  } finally {
    concurrency.release(slots - claims.length);
  }
}

/** Another process may know a rail that this one does not: it has this long to inquire. */
const POSTPONE_AFTER_MS = 60_000;
const POSTPONE_BY_MS = 15 * 60_000;
const POSTPONE_BATCH_MAX = 1_000;
/** Rail names come from the feed, and a mistake there must not make memory grow without limit. */
const LOGGED_MAX = 1_000;

/** Postpones due inquiries at rails that this process does not know, and logs each of these rails once. */
function createUnknownRails(database: Database, log: Log): { postpone(rail: string): Promise<void> } {
  const logged = new Set<string>();
  return {
    async postpone(rail) {
      if (logged.size < LOGGED_MAX && !logged.has(rail)) {
        logged.add(rail);
        log.warn(
          { rail },
          'due status inquiries are postponed: this process has no such rail, or the rail has no status inquiry; ' +
            'check TIBA_RAILS_FILE',
        );
      }
      await postponeDueStatusInquiries(database, {
        rail,
        overdueMs: POSTPONE_AFTER_MS,
        delayMs: POSTPONE_BY_MS,
        limit: POSTPONE_BATCH_MAX,
      });
    },
  };
}
