import type { Log } from '../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import {
  type ClaimedStatusInquiry,
  claimDueStatusInquiries,
  findRailsWithDueInquiries,
  postponeDueStatusInquiries,
} from '../postgres/status-inquiry-claims.ts';
import { CONCURRENCY_MAX } from './adaptive-concurrency.ts';
import type { InFlightInquiries, InquiryRail, InquiryRails } from './in-flight.ts';
import type { RecentInquiries } from './refresh-on-read.ts';
import { leaseEnd } from './schedule.ts';

export interface PollerDependencies {
  readonly database: Database;
  readonly rails: InquiryRails;
  readonly inFlight: InFlightInquiries;
  readonly recentInquiries: RecentInquiries;
  readonly log: Log;
}

/** Makes the status inquiries of the schedule. */
export interface Poller {
  /**
   * Starts the inquiries that are due by `now`, at each rail that no earlier call is still working on, so that no bank
   * waits for another. Each promise resolves with a rail's number of inquiries, when the last of them has started.
   */
  start(now: Date): Promise<readonly Promise<number>[]>;
  /** Resolves when no more inquiries start. */
  close(): Promise<void>;
}

export function createPoller({ database, rails, inFlight, recentInquiries, log }: PollerDependencies): Poller {
  const runs = new Map<string, Promise<number>>();
  const unknownRails = createUnknownRails(database, log);
  const closing = new AbortController();

  /** Runs until nothing is due, or until the bank fails. */
  async function run(inquiryRail: InquiryRail, now: Date): Promise<number> {
    const startedMs = performance.now();
    const inquiries = new Set<Promise<void>>();
    let count = 0;
    while (!closing.signal.aborted) {
      // A long run must not claim with the time of its start: its leases would end too soon.
      const at = new Date(now.getTime() + performance.now() - startedMs);
      const slots = inquiryRail.concurrency.acquire(CONCURRENCY_MAX, 'schedule', at.getTime());
      if (slots === 0) {
        if (inquiries.size === 0) break;
        await Promise.race(inquiries);
        continue;
      }
      const claims = await claim(database, inquiryRail, slots, at);
      for (const claimed of claims) {
        recentInquiries.record(claimed, at.getTime());
        const inquiry = inFlight.start(inquiryRail, claimed, 'schedule', at).finally(() => inquiries.delete(inquiry));
        inquiries.add(inquiry);
      }
      count += claims.length;
      if (claims.length < slots) break;
    }
    return count;
  }

  function startRun(inquiryRail: InquiryRail, now: Date): Promise<number> {
    const { name } = inquiryRail.rail;
    const started = run(inquiryRail, now)
      .catch((error: unknown) => {
        log.warn({ err: error, rail: name }, 'claiming due status inquiries failed; will retry');
        return 0;
      })
      .finally(() => runs.delete(name));
    runs.set(name, started);
    return started;
  }

  return {
    async start(now) {
      const due = await findRailsWithDueInquiries(database, now.toISOString());
      const started = due.flatMap((name) => {
        const inquiryRail = rails.get(name);
        return inquiryRail === undefined || runs.has(name) ? [] : [startRun(inquiryRail, now)];
      });
      for (const name of due) if (!rails.has(name)) await unknownRails.postpone(name, now);
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
  at: Date,
): Promise<ClaimedStatusInquiry[]> {
  let claims: ClaimedStatusInquiry[] = [];
  try {
    claims = await claimDueStatusInquiries(database, {
      rail: rail.name,
      now: at.toISOString(),
      claimedUntil: leaseEnd(at),
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
function createUnknownRails(database: Database, log: Log): { postpone(rail: string, now: Date): Promise<void> } {
  const logged = new Set<string>();
  return {
    async postpone(rail, now) {
      if (logged.size < LOGGED_MAX && !logged.has(rail)) {
        logged.add(rail);
        log.warn({ rail }, 'transactions name a rail without status inquiries; check TIBA_RAILS_FILE');
      }
      await postponeDueStatusInquiries(database, {
        rail,
        dueBefore: new Date(now.getTime() - POSTPONE_AFTER_MS).toISOString(),
        nextAt: new Date(now.getTime() + POSTPONE_BY_MS).toISOString(),
        limit: POSTPONE_BATCH_MAX,
      });
    },
  };
}
