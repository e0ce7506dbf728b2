import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import { advanceReplay, completeReplays, type EndpointReplay, listOpenReplays } from '../postgres/callback-replays.ts';
import type { Database } from '../postgres/database.ts';

/**
 * Carries out replays of many callbacks that operators ordered. A replay makes deliveries due, a few at a time, and
 * goes on when they were sent. So new events wait behind a few hundred deliveries at most, and the receiver gets no
 * more at once than at other times. All processes do this together; each step is one database transaction.
 */
export interface RangeReplays {
  /** Begins no further step, and resolves when the one in progress has ended. */
  close(): Promise<void>;
}

export interface RangeReplaysDependencies {
  readonly database: Database;
  /** Days for which the attempts of deliveries are kept; 0: no limit. */
  readonly callbackDays: number;
  readonly log: Log;
}

/** While no replay is running, a look costs one query. */
const INTERVAL_MS = 1_000;
const DUE_MAX = 500;
/** In one step: few enough that it ends well within the statement timeout. */
const EVENTS_MAX = 200;
/** Of one endpoint in a turn, so that all get their turns. */
const STEPS_MAX = 5;
const ENDPOINTS_MAX = 100;

export function startRangeReplays({ database, callbackDays, log }: RangeReplaysDependencies): RangeReplays {
  const step = { dueMax: DUE_MAX, eventsMax: EVENTS_MAX, callbackDays };
  const closing = new AbortController();
  /** The last endpoint of the turn before; null when the next turn begins anew. */
  let after: EndpointReplay | null = null;

  async function advanceAll(): Promise<void> {
    if (!(await completeReplays(database))) return;
    const open = await listOpenReplays(database, after, ENDPOINTS_MAX);
    after = open.length < ENDPOINTS_MAX ? null : (open.at(-1) ?? null);
    for (const each of open) {
      await advance(each).catch((error: unknown) =>
        log.warn({ err: error, ...each }, 'replaying a range of callbacks failed; will retry'),
      );
    }
  }

  async function advance(each: EndpointReplay): Promise<void> {
    for (let steps = 0; steps < STEPS_MAX && !closing.signal.aborted; steps += 1) {
      if ((await advanceReplay(database, each, step)) !== 'advanced') return;
    }
  }

  const failures = createFailureLog(log, 'looking for replays of callbacks failed; will retry');
  const loop = repeat(INTERVAL_MS, advanceAll, failures);
  return {
    async close() {
      closing.abort();
      await loop.stop();
    },
  };
}
