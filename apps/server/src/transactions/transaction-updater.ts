import { setTimeout as wait } from 'node:timers/promises';
import { markOverdue } from '../domain/apply-update.ts';
import { isFinal, type Transaction } from '../domain/transaction.ts';
import { type Batcher, createBatcher } from '../lib/batcher.ts';
import { type Database, DatabaseContended, DatabaseUnavailable, type Query } from '../postgres/database.ts';
import { byClient } from '../postgres/distributed/one-client.ts';
import { lockTransactions } from '../postgres/transaction-locks.ts';
import { findNewlyOverdue, findNewlyOverdueOverClients, type TransactionKey } from '../postgres/transactions.ts';
import {
  type AppliedUpdate,
  type Assumption,
  decide,
  mayBeFirst,
  type ReceivedUpdate,
  type UpdatePlan,
} from './decide.ts';
import { persist } from './persist.ts';

export interface TransactionUpdaterDependencies {
  readonly database: Database;
  /** How long the bank with this code is expected to take, in milliseconds. */
  readonly expectedMs: (bankCode: string) => number;
  /** The delay before the first status inquiry to a bank about a new transfer. */
  readonly firstInquiryMs: number;
  /** The same at a bank that expects it later; undefined at any other, and for an unknown rail. */
  readonly firstInquiryMsOf?: (rail: string) => number | undefined;
  /** PostgreSQL's time: milliseconds since 1970. It stamps what an update leaves out, and events. */
  readonly now: () => number;
  /** See `UpdateContext`. */
  readonly versionFloor: () => number;
  /** Waits for this time, in milliseconds. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** The only way in which a stored transaction changes. */
export interface TransactionUpdater {
  /**
   * Applies status updates in order and writes transactions, status update records, events and callbacks in one
   * database transaction. Applying the same updates again changes nothing, so a caller that does not know whether it
   * succeeded repeats the call.
   * @throws DatabaseUnavailable when it is not known to have been stored.
   */
  apply(updates: readonly ReceivedUpdate[], now?: Date): Promise<AppliedUpdate[]>;
  /** The same, in one database transaction with the updates of concurrent callers. */
  applyBatched(updates: readonly ReceivedUpdate[]): Promise<AppliedUpdate[]>;
  /** Marks the transactions overdue that are so at `now`, `limit` at most. Returns how many were marked. */
  markOverdue(now: Date, limit: number): Promise<number>;
}

/**
 * Another process may insert the same transactions or make them final concurrently; a retry finds them stored. The
 * first attempt may only have assumed something wrong.
 */
const ATTEMPTS_MAX = 6;
/** The source of the status update record that marks a transaction overdue. */
const CLOCK_SOURCE = 'clock';

export function createTransactionUpdater({
  database,
  expectedMs,
  firstInquiryMs,
  firstInquiryMsOf,
  now: readTime,
  versionFloor,
  pause = wait,
}: TransactionUpdaterDependencies): TransactionUpdater {
  const timesAt = (now: Date) => ({
    now: now.toISOString(),
    firstInquiryMs: (rail: string) => firstInquiryMsOf?.(rail) ?? firstInquiryMs,
  });

  const assumptions = createAssumptions();
  const applyTogether = (own: Database, updates: readonly ReceivedUpdate[], now: Date): Promise<AppliedUpdate[]> => {
    const first = assumptions.next(updates, own);
    return retryWhileContended(own, pause, async (query, attempt) => {
      const assumes = attempt === 1 ? first : NO_ASSUMPTIONS;
      const context = { now: now.toISOString(), versionFloor: versionFloor(), expectedMs };
      const plan = await decide(query, updates, { ...context, assumes, looksForHolders: attempt > 1 });
      const outdated = await persist(query, plan, timesAt(now));
      if (outdated !== null && plan.assumed[outdated]) assumptions.wrong(outdated);
      if (outdated !== null) throw new DatabaseContended(OUTDATED[outdated]);
      assumptions.right(plan.assumed);
      return plan.applied;
    });
  };

  const applyEach = (updates: readonly ReceivedUpdate[], now = new Date(readTime())): Promise<AppliedByClient> =>
    applyByClient(database, updates, (own, ofClient) => applyTogether(own, ofClient, now));

  async function apply(updates: readonly ReceivedUpdate[], now?: Date): Promise<AppliedUpdate[]> {
    const { applied, failures } = await applyEach(updates, now);
    for (const error of failures.values()) throw error;
    return applied;
  }

  const batcher = createUpdateBatcher((updates) => applyEach(updates));

  /** Locked and read again: since then it may have become final, or another process may have marked it. */
  async function markEach(query: Query, keys: readonly TransactionKey[], now: Date): Promise<number> {
    const known = keys.length === 0 ? [] : await lockTransactions(query, keys);
    const plan = overduePlan(known, { now: now.toISOString(), versionFloor: versionFloor() });
    const outdated = await persist(query, plan, timesAt(now));
    if (outdated !== null) throw new DatabaseContended(OUTDATED[outdated]);
    return plan.changed.length;
  }

  return {
    apply,
    applyBatched: (updates) => (updates.length > BATCHED_CALL_MAX ? apply(updates) : batcher.add(updates)),

    async markOverdue(now, limit) {
      const until = now.toISOString();
      if (!database.distributed) {
        return retryWhileContended(database, pause, async (query) =>
          markEach(query, await findNewlyOverdue(query, until, limit), now),
        );
      }
      let marked = 0;
      const found = await findNewlyOverdueOverClients(database, until, limit);
      await byClient(database, found, async (own, keys) => {
        marked += await retryWhileContended(own, pause, (query) => markEach(query, keys, now));
      });
      return marked;
    },
  };
}

async function retryWhileContended<T>(
  database: Database,
  pause: (ms: number) => Promise<void>,
  work: (query: Query, attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await database.transaction((query) => work(query, attempt));
    } catch (error) {
      if (!(error instanceof DatabaseContended) || attempt === ATTEMPTS_MAX) throw error;
      await pause(pauseMsAfter(attempt));
    }
  }
}

/**
 * In milliseconds. The first attempt mostly fails because of what it assumed, so the second one follows at once. Later
 * ones meet other database transactions: these need time to end, and equal pauses would bring the same ones together
 * again. All pauses together take 60 to 120 ms.
 */
const pauseMsAfter = (attempt: number): number => (attempt === 1 ? 0 : 2 ** attempt * (1 + Math.random()));

const OUTDATED: Readonly<Record<Assumption, string>> = {
  new: 'one of these transactions was inserted concurrently',
  'in process': 'one of these transactions is not in PROCESS as it was',
};

type Assumptions = Readonly<Record<Assumption, boolean>>;

const NO_ASSUMPTIONS: Assumptions = { new: false, 'in process': false };

/** How many batches with something to assume look first: after one wrong assumption, and after several in a row. */
const CAUTIOUS_BATCHES_MIN = 8;
const CAUTIOUS_BATCHES_MAX = 256;

/**
 * What the next batch assumes. A batch that is wrong about it is applied twice, so a core that repeats its feed, sends
 * every update twice, or says less with an end, soon has nearly all of its batches look first.
 */
function createAssumptions() {
  const cautious = { new: 0, 'in process': 0 };
  const cautiousNext = { new: CAUTIOUS_BATCHES_MIN, 'in process': CAUTIOUS_BATCHES_MIN };

  function take(assumption: Assumption): boolean {
    if (cautious[assumption] === 0) return true;
    cautious[assumption] -= 1;
    return false;
  }

  return {
    /** A batch that has nothing to assume tells nothing about the next ones. */
    next(updates: readonly ReceivedUpdate[], { distributed }: Database): Assumptions {
      return {
        new: updates.some(({ update }) => mayBeFirst(update)) && take('new'),
        // A distributed database ends transactions by an update, which does not tell.
        'in process': !distributed && updates.some(({ update }) => isFinal(update.status)) && take('in process'),
      };
    },
    wrong(assumption: Assumption): void {
      cautious[assumption] = cautiousNext[assumption];
      cautiousNext[assumption] = Math.min(cautiousNext[assumption] * 2, CAUTIOUS_BATCHES_MAX);
    },
    right(assumed: Assumptions): void {
      if (assumed.new) cautiousNext.new = CAUTIOUS_BATCHES_MIN;
      if (assumed['in process']) cautiousNext['in process'] = CAUTIOUS_BATCHES_MIN;
    },
  };
}

interface AppliedByClient {
  /** In the order of the updates; without those of `failures`. */
  readonly applied: AppliedUpdate[];
  /** The clients whose updates failed, and why. Those of the others are stored. */
  readonly failures: ReadonlyMap<string, unknown>;
}

/** A distributed database applies the updates of each client in a database transaction of its own, on one node. */
async function applyByClient(
  database: Database,
  updates: readonly ReceivedUpdate[],
  apply: (own: Database, updates: readonly ReceivedUpdate[]) => Promise<AppliedUpdate[]>,
): Promise<AppliedByClient> {
  if (!database.distributed) return { applied: await apply(database, updates), failures: new Map() };
  const applied: AppliedUpdate[] = [];
  const failures = new Map<string, unknown>();
  const numbered = updates.map((received, index) => ({ received, index, clientId: received.update.clientId }));
  await byClient(database, numbered, async (own, items) => {
    try {
      const received = items.map((item) => item.received);
      const results = await apply(own, received);
      for (const [position, result] of results.entries()) applied[items[position]?.index ?? 0] = result;
    } catch (error) {
      for (const { clientId } of items) failures.set(clientId, error);
    }
  });
  return { applied, failures };
}

/** In updates. */
const BATCH_MAX = 500;
/** A call with more updates is a batch of its own. */
const BATCHED_CALL_MAX = 100;
/** While one batch waits for a row lock, other updates need not wait. */
const BATCHES_MAX = 2;

/**
 * Applies the updates of small concurrent calls in one database transaction: a core that feeds each change by itself
 * then costs about as much as one that gathers them, and holds no connection for each. Each caller gets the results of
 * its own updates. If a batch fails, each call is applied again alone, so that no call fails because of another's
 * updates; while the database is unavailable, all of them fail. While a node of a distributed one is, those fail that
 * have updates of its clients.
 */
function createUpdateBatcher(
  apply: (updates: readonly ReceivedUpdate[]) => Promise<AppliedByClient>,
): Batcher<readonly ReceivedUpdate[], AppliedUpdate[]> {
  return createBatcher(
    async (calls) => {
      const { applied, failures } = await apply(calls.flat());
      const unexpected = failures.values().find((error) => !(error instanceof DatabaseUnavailable));
      if (unexpected !== undefined) throw unexpected;
      let from = 0;
      return calls.map((call) => {
        const own = applied.slice(from, (from += call.length));
        const failed = call.find(({ update }) => failures.has(update.clientId));
        return failed === undefined ? own : Promise.reject<AppliedUpdate[]>(failures.get(failed.update.clientId));
      });
    },
    BATCH_MAX,
    {
      weightOf: ({ length }) => length,
      batchesMax: BATCHES_MAX,
      isolates: (error) => !(error instanceof DatabaseUnavailable),
    },
  );
}

function overduePlan(known: readonly Transaction[], context: Parameters<typeof markOverdue>[1]): UpdatePlan {
  const plan: UpdatePlan = {
    applied: [],
    inserted: [],
    changed: [],
    annotated: [],
    statusUpdates: [],
    assumed: NO_ASSUMPTIONS,
  };
  for (const before of known) {
    const result = markOverdue(before, context);
    if (result.outcome !== 'overdue') continue;
    const { transaction, events } = result;
    plan.changed.push({ before, transaction, events, insertedBy: null, advancedBy: null });
    const { clientId, transactionId, expectedBy } = before;
    const raw = JSON.stringify({ expected_by: expectedBy });
    plan.statusUpdates.push({ clientId, transactionId, source: CLOCK_SOURCE, raw, outcome: 'overdue', reason: null });
  }
  return plan;
}
