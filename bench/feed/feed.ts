import path from 'node:path';
import pg from 'pg';
import type { BenchContext } from '../bench-context.ts';
import { addClients, type FedStatus, statusMessage } from '../bytes/fill.ts';
import { startChild } from '../child.ts';
import { createDatabase } from '../database/databases.ts';
import { cpuMicroseconds } from '../process-stats.ts';
import type { FeedCodeAddress, FeedCodeSettings, FeedCost } from '../processes/feed-code.ts';
import { median, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { loadCode, THIS_CODE } from './code.ts';

/** Of what COPY costs PostgreSQL, for the same rows. */
const COPY_BUDGET = 0.3;

export interface FeedSizes {
  /** Of each of the two halves of a round: one creates transactions, one ends them. */
  readonly lines: number;
  readonly rounds: number;
  /** The folder of another clone with its packages; null for none. */
  readonly against: string | null;
}

export interface FeedResult {
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

interface Side {
  readonly title: string;
  readonly connectionString: string;
  /** Feeds NDJSON to the process of this side. */
  readonly feed: (lines: string) => Promise<FeedCost>;
  readonly costs: Record<FedStatus, FeedCost[]>;
}

/**
 * Measures what a line of the feed costs a process and PostgreSQL. With the code of another clone, both take turns;
 * each has its own process and its own database.
 */
export async function measureFeed(context: BenchContext, { lines, rounds, against }: FeedSizes): Promise<FeedResult> {
  await using closers = new AsyncDisposableStack();
  const own = await openSide(context, closers, { title: 'this code', root: THIS_CODE, name: 'feed_own' });
  const other =
    against === null
      ? null
      : await openSide(context, closers, { title: against, root: path.resolve(against), name: 'feed_other' });
  const sides = other === null ? [own] : [own, other];
  const copy = await openCopy(context, closers, own);
  for (let round = 1 - WARM_UP_ROUNDS; round <= rounds; round += 1) {
    for (const status of ['PROCESS', 'SUCCESS'] as const) {
      const first = (round + WARM_UP_ROUNDS - 1) * lines;
      const costs = await feedRound(context, sides, status, { first, lines });
      if (round > 0) for (const [side, cost] of costs) side.costs[status].push(cost);
      const microseconds = await copy.measure(status, lines);
      if (round > 0) copy.costs[status].push(microseconds);
    }
    context.logProgress(round > 0 ? `  round ${round} of ${rounds}` : '  warming up');
  }
  return report(sides, copy.costs, { lines, rounds });
}

/**
 * Feeds each side the same lines, and returns what a line has cost it. Of all parts together: V8 collects garbage after
 * each 3,000 lines or so, which is a third of the cost of the part that it falls into.
 */
async function feedRound(
  context: BenchContext,
  sides: readonly Side[],
  status: FedStatus,
  { first, lines }: { readonly first: number; readonly lines: number },
): Promise<Map<Side, FeedCost>> {
  const costs = new Map<Side, FeedCost>();
  for (let part = 0; part * PART_LINES < lines; part += 1) {
    const from = first + part * PART_LINES;
    const count = Math.min(PART_LINES, lines - part * PART_LINES);
    const messages = Array.from({ length: count }, (_, line) => statusMessage(from + line, status)).join('\n');
    // The order changes, so that neither side gains from the other's.
    for (const side of part % 2 === 0 ? sides : sides.toReversed()) {
      context.signal.throwIfAborted();
      const cost = await side.feed(messages);
      const { server, database } = costs.get(side) ?? { server: 0, database: 0 };
      const share = count / lines;
      costs.set(side, { server: server + cost.server * share, database: database + cost.database * share });
    }
  }
  return costs;
}

async function openSide(
  context: BenchContext,
  closers: AsyncDisposableStack,
  { title, root, name }: { readonly title: string; readonly root: string; readonly name: string },
): Promise<Side> {
  await createDatabase(context.postgres.connectionString, name);
  const connectionString = context.postgres.connectionString.replace('/tiba?', `/${name}?`);
  const settings: FeedCodeSettings = { root, connectionString, logFile: path.join(context.directory, `${name}.log`) };
  const { cores, directory } = context;
  const child = await startChild<FeedCodeAddress>({ file: 'feed-code.ts', settings, cores, directory });
  closers.defer(child.stop);
  const { url } = child.address;
  const feed = async (body: string): Promise<FeedCost> => {
    const response = await fetch(url, { method: 'POST', body, signal: context.signal });
    const text = await response.text();
    if (!response.ok) throw new Error(`${title}: ${text}`);
    return JSON.parse(text) as FeedCost;
  };
  return { title, connectionString, feed, costs: { PROCESS: [], SUCCESS: [] } };
}

/** A service runs for weeks, and V8 goes on compiling for some seconds. */
const WARM_UP_ROUNDS = 3;
/** Lines of one feed. A shared machine changes its speed within seconds, so the two codes take short turns. */
const PART_LINES = 2_000;

interface Copy {
  readonly costs: Record<FedStatus, number[]>;
  /** Copies the rows that the latest feed of this side has stored; microseconds of PostgreSQL's CPU for each line. */
  measure(status: FedStatus, lines: number): Promise<number>;
}

/** The tables with the rows that a feed of each kind has added. */
const COPIED: Readonly<Record<FedStatus, readonly string[]>> = {
  PROCESS: ['tiba.status_messages', 'tiba.transactions_in_process'],
  SUCCESS: ['tiba.status_messages', 'tiba.transactions_final', 'tiba.events', 'tiba.callback_outbox_ranges'],
};

/** A database with the same tables and indexes, and with the same rows from the rounds before. */
async function openCopy(context: BenchContext, closers: AsyncDisposableStack, own: Side): Promise<Copy> {
  await createDatabase(context.postgres.connectionString, 'feed_copy');
  const connectionString = context.postgres.connectionString.replace('/tiba?', '/feed_copy?');
  const code = await loadCode(THIS_CODE, context);
  await code.migrate(connectionString);
  const [source, target] = await Promise.all([connect(own.connectionString), connect(connectionString)]);
  closers.defer(async () => void (await Promise.all([source.end(), target.end()])));
  const database = code.openDatabase(connectionString);
  await addClients(database);
  await database.close();
  const { rows } = await target.query<{ pid: number; directory: string }>(
    // PostgreSQL may run as another user, which can write there only.
    "select pg_backend_pid() as pid, current_setting('data_directory') as directory",
  );
  const { pid = Number.NaN, directory = '' } = rows[0] ?? {};
  /** The database transaction up to which rows were copied. */
  let copiedUpTo = '0';
  return {
    costs: { PROCESS: [], SUCCESS: [] },
    async measure(status, lines) {
      let used = 0;
      for (const [index, name] of COPIED[status].entries()) {
        const file = path.join(directory, `copied-${index}`);
        await source.query(`copy (select * from ${name} where xmin::text::bigint > ${copiedUpTo}) to '${file}'`);
        const before = await cpuMicroseconds(pid);
        await target.query(`copy ${name} from '${file}'`);
        used += (await cpuMicroseconds(pid)) - before;
      }
      const { rows: now } = await source.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
      copiedUpTo = now[0]?.xid ?? copiedUpTo;
      return used / lines;
    },
  };
}

async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const TITLES: Readonly<Record<FedStatus, string>> = { PROCESS: 'the first message', SUCCESS: 'the final message' };

function report(
  sides: readonly Side[],
  copies: Readonly<Record<FedStatus, readonly number[]>>,
  { lines, rounds }: Omit<FeedSizes, 'against'>,
): FeedResult {
  const statuses = ['PROCESS', 'SUCCESS'] as const;
  const [own, other] = sides;
  const medianOf = (side: Side, status: FedStatus, on: keyof FeedCost): number =>
    median(side.costs[status].map((cost) => cost[on]));
  const rows = statuses.flatMap((status) => [
    ...sides.map((side) => [
      `${TITLES[status]}: ${side.title}`,
      medianOf(side, status, 'server').toFixed(1),
      medianOf(side, status, 'database').toFixed(1),
    ]),
    [`${TITLES[status]}: COPY of the same rows`, '', median(copies[status]).toFixed(1)],
  ]);
  const ratios: Ratio[] = [];
  if (own !== undefined && other !== undefined) {
    for (const on of ['server', 'database'] as const) {
      for (const status of statuses) {
        const value = median(
          own.costs[status].map((cost, round) => cost[on] / (other.costs[status][round]?.[on] ?? Number.NaN)),
        );
        ratios.push({ title: `${on} CPU of ${TITLES[status]} / the other code's`, value, budget: null });
      }
    }
  }
  if (own !== undefined) {
    const sum = (values: (status: FedStatus) => number): number => values('PROCESS') + values('SUCCESS');
    const value = sum((status) => median(copies[status])) / sum((status) => medianOf(own, status, 'database'));
    ratios.push({ title: 'COPY / the feed, database CPU', value, budget: { bound: 'at least', value: COPY_BUDGET } });
  }
  const text = [
    `${whole(lines)} lines created and ended in each of ${rounds} rounds, in feeds of ${whole(PART_LINES)}; medians`,
    '',
    table([['CPU µs per line', 'server', 'database'], ...rows]),
  ].join('\n');
  return { text, ratios };
}
