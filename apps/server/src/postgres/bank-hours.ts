import type { Database } from './database.ts';

/** How account inquiries ended, hour by hour, and when banks were DOWN. */

/** How many inquiries to a bank ended in one way within an hour. */
export interface BankHourCount {
  /** The begin of the hour, in milliseconds since 1970. */
  readonly hourMs: number;
  readonly bic: string;
  readonly outcome: string;
  readonly count: number;
  /** By bucket; empty where durations are not counted. */
  readonly durations: readonly number[];
}

/** The counts that one process stores at once. */
export interface BankHourBatch {
  readonly processId: string;
  /** Greater than that of the batch before. */
  readonly batch: number;
  readonly counts: readonly BankHourCount[];
}

/**
 * Adds counts to those that are stored. A batch that is stored already changes nothing, so a process that does not know
 * whether it was stored sends it again.
 */
export async function addBankHours(database: Database, { processId, batch, counts }: BankHourBatch): Promise<void> {
  await database.query(
    ADD_SQL,
    [
      processId,
      batch,
      counts.map(({ hourMs }) => new Date(hourMs)),
      counts.map(({ bic }) => bic),
      counts.map(({ outcome }) => outcome),
      counts.map(({ count }) => count),
      counts.map(({ durations }) => `{${durations.join(',')}}`),
    ],
    'add-bank-hours',
  );
}

const ADD_SQL = `
with new_batch as (
  insert into tiba.bank_hour_batches as known (process_id, batch) values ($1, $2)
  on conflict (process_id) do update set batch = excluded.batch, stored_at = now() where known.batch < excluded.batch
  returning 1
)
insert into tiba.bank_hours as known (hour, bic, outcome, inquiries, durations)
select hour, bic, outcome, inquiries, durations::int[]
  from unnest($3::timestamptz[], $4::text[], $5::text[], $6::bigint[], $7::text[])
         as counted (hour, bic, outcome, inquiries, durations)
 where exists (select from new_batch)
 -- In key order, so that two processes cannot deadlock.
 order by hour, bic collate "C", outcome collate "C"
on conflict (hour, bic, outcome) do update
   set inquiries = known.inquiries + excluded.inquiries,
       durations = (select coalesce(array_agg(coalesce(one, 0) + coalesce(other, 0) order by bucket), '{}')
                      from unnest(known.durations, excluded.durations) with ordinality as added (one, other, bucket))`;

/** Since when a bank has had a status. */
export interface BankStatusChange {
  readonly bic: string;
  readonly sinceMs: number;
  readonly status: 'UP' | 'DOWN';
}

export interface BankHistory {
  /** The range, in milliseconds since 1970: from the begin of an hour until now. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly counts: readonly BankHourCount[];
  /** In the order of time: those of the range, and of each bank the last one before it. */
  readonly changes: readonly BankStatusChange[];
}

/** The last `hours`, the current one included, of one bank or of all. */
export async function readBankHistory(database: Database, hours: number, bic: string | null): Promise<BankHistory> {
  const [range] = await database.query<{ from: Date; to: Date }>(
    `select date_trunc('hour', now(), 'UTC') - ($1::int - 1) * interval '1 hour' as from, now() as to`,
    [hours],
  );
  if (range === undefined) throw new Error('PostgreSQL returned no time');
  const [counts, changes] = await Promise.all([
    database.query<CountRow>(bic === null ? ALL_COUNTS_SQL : BANK_COUNTS_SQL, [
      range.from,
      ...(bic === null ? [] : [range.to, bic]),
    ]),
    database.query<ChangeRow>(CHANGES_SQL, [range.from, bic]),
  ]);
  return {
    fromMs: range.from.getTime(),
    toMs: range.to.getTime(),
    counts: counts.map((row) => ({
      hourMs: row.hour.getTime(),
      bic: row.bic,
      outcome: row.outcome,
      count: row.inquiries,
      // Of a week of a hundred banks these are a million numbers, which JSON.parse reads four times as fast as pg.
      durations: JSON.parse(`[${row.durations.slice(1, -1)}]`) as number[],
    })),
    changes: changes.map((row) => ({ bic: row.bic, sinceMs: row.since.getTime(), status: row.status })),
  };
}

interface CountRow extends Record<string, unknown> {
  readonly hour: Date;
  readonly bic: string;
  readonly outcome: string;
  readonly inquiries: number;
  /** As PostgreSQL writes an array: `{1,2}`. */
  readonly durations: string;
}

interface ChangeRow extends Record<string, unknown> {
  readonly bic: string;
  readonly since: Date;
  readonly status: BankStatusChange['status'];
}

const COUNT_COLUMNS = 'hour, bic, outcome, inquiries::float8 as inquiries, durations::text as durations';

const ALL_COUNTS_SQL = `
select ${COUNT_COLUMNS} from tiba.bank_hours where hour >= $1 order by hour, bic, outcome`;

// Each hour is looked up by key: a scan of the range would read all other banks as well. A process whose clock is ahead
// may have counted in the next hour.
const BANK_COUNTS_SQL = `
select ${COUNT_COLUMNS}
  from generate_series($1::timestamptz, $2::timestamptz + interval '1 hour', interval '1 hour') as hours (start)
 cross join lateral (
   select * from tiba.bank_hours where hour = hours.start and bic = $3 offset 0) found
 order by hour, outcome`;

const CHANGES_SQL = `
select bic, since, status from tiba.bank_status_changes
 where since >= $1 and ($2::text is null or bic = $2)
union all
(select distinct on (bic) bic, since, status from tiba.bank_status_changes
  where since < $1 and ($2::text is null or bic = $2)
  order by bic, since desc)
order by bic, since`;

/**
 * Deletes at most `limit` counts of hours before then, and changes of banks that a later one before then follows.
 * Returns how many.
 */
export async function deleteBankHistory(database: Database, before: Date, limit: number): Promise<number> {
  const [row] = await database.query<{ deleted: number }>(
    `with old_hours as materialized (
       select hour, bic, outcome from tiba.bank_hours where hour < $1 order by hour, bic, outcome limit $2
     ), deleted_hours as (
       delete from tiba.bank_hours h using old_hours o
        where h.hour = o.hour and h.bic = o.bic and h.outcome = o.outcome
       returning 1
     ), old_changes as materialized (
       select c.bic, c.since from tiba.bank_status_changes c
        where c.since < $1
          and exists (select from tiba.bank_status_changes later
                       where later.bic = c.bic and later.since > c.since and later.since < $1)
        order by c.bic, c.since limit $2
     ), deleted_changes as (
       delete from tiba.bank_status_changes c using old_changes o where c.bic = o.bic and c.since = o.since
       returning 1
     ), deleted_batches as (
       delete from tiba.bank_hour_batches where stored_at < $1
     )
     select ((select count(*) from deleted_hours) + (select count(*) from deleted_changes))::int as deleted`,
    [before, limit],
  );
  return row?.deleted ?? 0;
}

export async function findOldestBankHour(database: Database): Promise<Date | null> {
  const [row] = await database.query<{ oldest: Date | null }>('select min(hour) as oldest from tiba.bank_hours');
  return row?.oldest ?? null;
}
