import { jakartaDayOf } from '../domain/instant.ts';
import { repeat } from '../lib/repeat.ts';
import { createFailureLog } from '../observability/failure-log.ts';
import type { Log } from '../observability/log.ts';
import type { Database } from './database.ts';

/** How many inquiries all processes have sent over each rail on a day. */
export interface DailyInquiries {
  /** Of one rail. Days are counted since 1970, in Jakarta. */
  countOf(rail: string): DayCount;
  /** Stores what was counted last, and stops. */
  close(): Promise<void>;
}

interface DayCount {
  /** By all processes, as far as this one knows. */
  total(day: number): number;
  /** Whether this process may send one more: its share of what all had left a moment ago is not used up. */
  mayTake(day: number, perDay: number): boolean;
  add(day: number): void;
}

export interface DailyInquiriesDependencies {
  readonly database: Database;
  readonly liveProcesses: () => number;
  /** Milliseconds since 1970. */
  readonly wallClock: () => number;
  /** Whether old counts stay. */
  readonly paused: boolean;
  readonly log: Log;
}

/** A process that is killed forgets what it has sent since. The others learn of it no later. */
const INTERVAL_MS = 1_000;
const KEPT_DAYS = 7;

interface Known {
  /** By all processes, when it was last read. */
  stored: number;
  /** By this process since. */
  unstored: number;
}

/** Resolves when the counts of today are known. */
export async function startDailyInquiries(dependencies: DailyInquiriesDependencies): Promise<DailyInquiries> {
  const { database, liveProcesses, wallClock, paused, log } = dependencies;
  const counts = new Map<string, Known & { readonly rail: string; readonly day: number }>();

  function knownOf(rail: string, day: number): Known {
    const key = `${rail} ${day}`;
    let known = counts.get(key);
    if (known === undefined) counts.set(key, (known = { rail, day, stored: 0, unstored: 0 }));
    return known;
  }

  async function read(today: number): Promise<void> {
    for (const { rail, day, sent } of await readDailyInquiries(database, today)) {
      const known = knownOf(rail, day);
      known.stored = Math.max(known.stored, sent);
    }
  }

  async function store(): Promise<void> {
    for (const known of counts.values()) {
      const { rail, day, unstored } = known;
      if (unstored === 0) continue;
      const sent = await addDailyInquiries(database, { rail, day, sent: unstored });
      known.stored = Math.max(known.stored, sent);
      known.unstored -= unstored;
    }
  }

  /** The day on which old counts were deleted last. */
  let deletedOn: number | null = null;
  async function deleteOld(today: number): Promise<void> {
    if (paused || today === deletedOn) return;
    await deleteDailyInquiries(database, KEPT_DAYS);
    deletedOn = today;
  }

  async function exchange(): Promise<void> {
    const today = jakartaDayOf(wallClock());
    await deleteOld(today);
    await store();
    if (liveProcesses() > 1) await read(today);
    for (const [key, { day, unstored }] of counts) if (day < today - 1 && unstored === 0) counts.delete(key);
  }

  const today = jakartaDayOf(wallClock());
  await deleteOld(today);
  await read(today);
  const failures = createFailureLog(log, 'storing how many inquiries were sent today failed; will retry');
  const loop = repeat(INTERVAL_MS, exchange, failures);
  return {
    countOf: (rail) => ({
      total(day) {
        const { stored, unstored } = knownOf(rail, day);
        return stored + unstored;
      },
      mayTake(day, perDay) {
        const { stored, unstored } = knownOf(rail, day);
        return unstored < Math.ceil((perDay - stored) / liveProcesses());
      },
      add(day) {
        knownOf(rail, day).unstored += 1;
      },
    }),
    async close() {
      await loop.stop();
      await store();
    },
  };
}

interface StoredCount extends Record<string, unknown> {
  readonly rail: string;
  readonly day: number;
  readonly sent: number;
}

const readDailyInquiries = (database: Database, since: number): Promise<StoredCount[]> =>
  database.query<StoredCount>(
    'select rail, day, sent::float8 as sent from tiba.daily_inquiries where day >= $1',
    [since],
    'read-daily-inquiries',
  );

/** Returns the new number. */
async function addDailyInquiries(database: Database, { rail, day, sent }: StoredCount): Promise<number> {
  const [row] = await database.query<{ sent: number }>(
    `insert into tiba.daily_inquiries as d (rail, day, sent) values ($1, $2, $3)
         on conflict (rail, day) do update set sent = d.sent + excluded.sent
     returning sent::float8 as sent`,
    [rail, day, sent],
    'add-daily-inquiries',
  );
  return row?.sent ?? 0;
}

/** On PostgreSQL's clock: a process whose own clock is ahead would delete the counts of today. */
async function deleteDailyInquiries(database: Database, keptDays: number): Promise<void> {
  await database.query(
    `delete from tiba.daily_inquiries
      where day < (now() at time zone 'Asia/Jakarta')::date - date '1970-01-01' - $1::int`,
    [keptDays],
  );
}
