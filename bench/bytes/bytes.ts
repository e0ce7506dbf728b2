import pg from 'pg';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { scanCallbacks } from '../../apps/server/src/postgres/retention/callbacks.ts';
import { scanEvents } from '../../apps/server/src/postgres/retention/events.ts';
import { deleteStatusMessages } from '../../apps/server/src/postgres/retention/status-messages.ts';
import type { BenchContext } from '../bench-context.ts';
import { makeEmptyDatabase } from '../database/databases.ts';
import type { Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { fillByFeed } from './fill.ts';

/** Budgets for each finished transaction with one delivered callback. */
const BYTES_BUDGET = 1_400;
const KEPT_BYTES_BUDGET = 700;
const WAL_BYTES_BUDGET = 3_500;
const HOT_PERCENT_BUDGET = 80;

const DELETE_BATCH = 1_000;

export interface BytesResult {
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

/** Measures what transactions take on the disk and in the write-ahead log, and how many updates are HOT. */
export async function measureBytes(context: BenchContext, transactions: number): Promise<BytesResult> {
  const connectionString = await makeEmptyDatabase(context, 'bytes');
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  try {
    const before = await readWal(client);
    const startedMs = performance.now();
    await withDatabase(context, connectionString, (database) => fill(context, database, transactions));
    const seconds = (performance.now() - startedMs) / 1_000;
    const wal = (await readWal(client)) - before;
    const relations = await readRelations(client);
    const updates = await readUpdates(client);
    const perTransaction = (bytes: number): number => bytes / transactions;
    const total = sum(relations.map(({ bytes }) => bytes));
    context.logProgress('deleting the history …');
    await withDatabase(context, connectionString, deleteHistory);
    // New history and new transactions would use the space again. Here it is given back, so that what is left can be
    // seen.
    await client.query(`vacuum full tiba.status_messages, tiba.events, tiba.callback_outbox,
         tiba.callback_outbox_ranges, tiba.callback_attempts, tiba.transactions_in_process`);
    const kept = sum((await readRelations(client)).map(({ bytes }) => bytes));
    const [all, hot] = [sum(updates.map((each) => each.updated)), sum(updates.map((each) => each.hot))];
    const text = [
      `${whole(transactions)} transactions, each created and ended by a feed, with one callback; ` +
        `${whole(transactions / seconds)} a second`,
      '',
      describeRelations(relations, perTransaction),
      '',
      describeUpdates(updates, transactions),
    ].join('\n');
    return {
      text,
      ratios: [
        { title: 'bytes per transaction', value: perTransaction(total), budget: atMost(BYTES_BUDGET) },
        {
          title: 'bytes per transaction, without its history',
          value: perTransaction(kept),
          budget: atMost(KEPT_BYTES_BUDGET),
        },
        { title: 'WAL bytes per transaction', value: perTransaction(wal), budget: atMost(WAL_BYTES_BUDGET) },
        {
          title: 'HOT updates, percent',
          value: (100 * hot) / all,
          budget: { bound: 'at least', value: HOT_PERCENT_BUDGET },
        },
      ],
    };
  } finally {
    await client.end();
  }
}

const atMost = (value: number): Ratio['budget'] => ({ bound: 'at most', value });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** A connection reports its statistics at the latest when it ends. */
async function withDatabase(
  { log }: BenchContext,
  connectionString: string,
  use: (database: Database) => Promise<void>,
): Promise<void> {
  const database = openDatabase({ connection: { connectionString }, connectionsMax: 2, log });
  try {
    await use(database);
  } finally {
    await database.close();
  }
}

async function fill({ signal, logProgress }: BenchContext, database: Database, transactions: number): Promise<void> {
  let logged = 0;
  await fillByFeed({
    database,
    transactions,
    signal,
    onProgress(done) {
      if (done - logged < transactions / 10) return;
      logged = done;
      logProgress(`  ${whole(done)} of ${whole(transactions)}`);
    },
  });
}

/** What the service deletes when the days of messages, callbacks and events have passed. */
async function deleteHistory(database: Database): Promise<void> {
  const later = new Date(Date.now() + 24 * 60 * 60 * 1_000);
  while ((await deleteStatusMessages(database, later, DELETE_BATCH)) > 0);
  for (const scan of [scanCallbacks(database, DELETE_BATCH), scanEvents(database, DELETE_BATCH)]) {
    while ((await scan.deleteBatch(later)) > 0 || scan.hasMore());
  }
}

async function readWal(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: number }>(
    `select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as bytes`,
  );
  return rows[0]?.bytes ?? 0;
}

interface Relation {
  readonly owner: string;
  readonly part: string;
  readonly bytes: number;
}

/** Tables, what they keep outside (TOAST), and indexes. */
async function readRelations(client: pg.Client): Promise<Relation[]> {
  const { rows } = await client.query<Relation>(
    `select t.relname as owner, part, bytes::float8
       from pg_class t
      cross join lateral (
        select 'heap' as part, pg_relation_size(t.oid) as bytes, 1 as position
        union all
        select 'TOAST', pg_total_relation_size(t.reltoastrelid), 2 where t.reltoastrelid <> 0
        union all
        select i.indexrelid::regclass::text, pg_relation_size(i.indexrelid), 3 from pg_index i where i.indrelid = t.oid
      ) parts
      where t.relkind = 'r' and t.relnamespace = 'tiba'::regnamespace and bytes > 0
      order by pg_total_relation_size(t.oid) desc, t.relname, position, bytes desc`,
  );
  return rows;
}

function describeRelations(relations: readonly Relation[], perTransaction: (bytes: number) => number): string {
  const lines: string[][] = [];
  for (const owner of new Set(relations.map((each) => each.owner))) {
    const parts = relations.filter((each) => each.owner === owner);
    const bytes = perTransaction(sum(parts.map((each) => each.bytes)));
    // Tables of a few pages are not what grows.
    if (bytes < 10) continue;
    lines.push([owner, bytes.toFixed(0)]);
    for (const part of parts) {
      lines.push([`  ${part.part.replace(/^tiba\./, '')}`, perTransaction(part.bytes).toFixed(0)]);
    }
  }
  return table([['', 'bytes per transaction'], ...lines]);
}

interface Updates {
  readonly owner: string;
  readonly inserted: number;
  readonly updated: number;
  readonly hot: number;
  readonly deleted: number;
}

async function readUpdates(client: pg.Client): Promise<Updates[]> {
  const { rows } = await client.query<Updates>(
    `select relname as owner, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated,
            n_tup_hot_upd::float8 as hot, n_tup_del::float8 as deleted
       from pg_stat_user_tables where schemaname = 'tiba' and n_tup_ins + n_tup_upd > 0 order by n_tup_ins desc, 1`,
  );
  return rows;
}

const describeUpdates = (updates: readonly Updates[], transactions: number): string =>
  table([
    ['per transaction', 'inserted', 'updated', 'of them HOT', 'deleted'],
    ...updates.map(({ owner, inserted, updated, hot, deleted }) => [
      owner,
      (inserted / transactions).toFixed(2),
      (updated / transactions).toFixed(2),
      updated === 0 ? '' : `${((100 * hot) / updated).toFixed(0)} %`,
      (deleted / transactions).toFixed(2),
    ]),
  ]);
