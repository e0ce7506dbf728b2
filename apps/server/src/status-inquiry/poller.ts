import type { Log } from '../observability/log.ts';
import type { Database } from '../postgres/database.ts';
import {
  type ClaimedStatusInquiry,
  claimDueStatusInquiries,
  findRailsWithDueInquiries,
  postponeDueStatusInquiries,
} from '../postgres/status-inquiry-claims.ts';
import { PLACES_MAX } from './adaptive-concurrency.ts';
import { leaseEnd } from './claim-lease.ts';
import type { InFlightInquiries } from './in-flight.ts';
import type { InquiryRail, InquiryRails } from './inquiry-rail.ts';
import type { RecentInquiries } from './recent-inquiries.ts';

export interface PollerDependencies {
  readonly database: Database;
  readonly rails: InquiryRails;
  readonly inFlight: InFlightInquiries;
  readonly recentInquiries: RecentInquiries;
  readonly log: Log;
}

/** Asks what the schedule says. */
export interface Poller {
  /**
   * Begins to ask what is due by `now` at each rail that is not being asked already, so that no bank waits for another.
   * Each promise resolves with how many questions there were, when the last of them has begun.
   */
  begin(now: Date): Promise<readonly Promise<number>[]>;
  /** Resolves when no question begins any more. */
  close(): Promise<void>;
}

/** Another process may know a rail that this one does not: it gets this long to ask. */
const LEFT_TO_OTHERS_MS = 60_000;
const STRANGER_PAUSE_MS = 15 * 60_000;
const STRANGERS_BATCH = 1_000;
/** Names come from the feed, and memory shall not grow with a mistake in it. */
const STRANGERS_MAX = 1_000;

export function createPoller({ database, rails, inFlight, recentInquiries, log }: PollerDependencies): Poller {
  const runs = new Map<string, Promise<number>>();
  const strangers = new Set<string>();
  const closing = new AbortController();

  async function claim({ rail, concurrency }: InquiryRail, places: number, at: Date): Promise<ClaimedStatusInquiry[]> {
    let claims: ClaimedStatusInquiry[] = [];
    try {
      claims = await claimDueStatusInquiries(database, {
        rail: rail.name,
        now: at.toISOString(),
        claimedUntil: leaseEnd(at),
        limit: places,
      });
      return claims;
    } finally {
      concurrency.giveBack(places - claims.length);
    }
  }

  /** Until nothing is due any more, or the bank is in trouble. */
  async function run(askedRail: InquiryRail, now: Date): Promise<number> {
    const startedMs = performance.now();
    const underWay = new Set<Promise<void>>();
    let asked = 0;
    while (!closing.signal.aborted) {
      // A long run must not claim with the time of its beginning: its claims would run out too soon.
      const at = new Date(now.getTime() + performance.now() - startedMs);
      const places = askedRail.concurrency.take(PLACES_MAX, 'schedule', at.getTime());
      if (places === 0) {
        if (underWay.size === 0) break;
        await Promise.race(underWay);
        continue;
      }
      const claims = await claim(askedRail, places, at);
      for (const claimed of claims) {
        recentInquiries.note(claimed, at.getTime());
        const question = inFlight.begin(askedRail, claimed, 'schedule', at).finally(() => underWay.delete(question));
        underWay.add(question);
      }
      asked += claims.length;
      if (claims.length < places) break;
    }
    return asked;
  }

  function begin(askedRail: InquiryRail, now: Date): Promise<number> {
    const { name } = askedRail.rail;
    const begun = run(askedRail, now)
      .catch((error: unknown) => {
        log.warn({ err: error, rail: name }, 'what is to be asked could not be found out; it is tried again');
        return 0;
      })
      .finally(() => runs.delete(name));
    runs.set(name, begun);
    return begun;
  }

  async function postpone(rail: string, now: Date): Promise<void> {
    if (strangers.size < STRANGERS_MAX && !strangers.has(rail)) {
      strangers.add(rail);
      log.warn({ rail }, 'transactions name a rail that cannot be asked about them: is it in TIBA_RAILS_FILE?');
    }
    await postponeDueStatusInquiries(database, {
      rail,
      dueBefore: new Date(now.getTime() - LEFT_TO_OTHERS_MS).toISOString(),
      nextAt: new Date(now.getTime() + STRANGER_PAUSE_MS).toISOString(),
      limit: STRANGERS_BATCH,
    });
  }

  return {
    async begin(now) {
      const due = await findRailsWithDueInquiries(database, now.toISOString());
      const begun = due.flatMap((name) => {
        const askedRail = rails.get(name);
        return askedRail === undefined || runs.has(name) ? [] : [begin(askedRail, now)];
      });
      for (const name of due) if (!rails.has(name)) await postpone(name, now);
      return begun;
    },
    async close() {
      closing.abort();
      await Promise.all(runs.values());
    },
  };
}
