import assert from 'node:assert/strict';
import type { Pool } from 'undici';
import { claimDeliveries, findDueEndpoints } from '../../apps/server/src/postgres/callback-deliveries.ts';
import {
  claimDueStatusInquiries,
  findRailsWithDueInquiries,
} from '../../apps/server/src/postgres/status-inquiry-claims.ts';
import { findNewlyOverdue } from '../../apps/server/src/postgres/transactions.ts';
import type { BenchContext } from '../bench-context.ts';
import { CLIENT_ID } from '../database/prototypes.ts';
import { createdSuccessUpdate } from '../end-to-end/feed-updates.ts';
import { CONNECTIONS } from '../load/load.ts';
import { residentKib } from '../process-stats.ts';
import { logProgressOf } from '../progress.ts';
import { median, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { checkStatusRequests, headers } from '../requests.ts';
import { cpuOf } from '../service-cpu.ts';
import { CLIENTS, transactionOf } from './fill.ts';
import { type Measured, openMeasured } from './measured.ts';
import { measureRetention } from './retention.ts';

export interface ScaleSizes {
  readonly smallRows: number;
  readonly largeRows: number;
  readonly quick: boolean;
}

export interface ScaleResult {
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

/** What anything may cost among many transactions, in relation to few. */
const BUDGET = { bound: 'at most', value: 1.15 } as const;
const ROUNDS = 5;
/** Of each kind in each round, and the first time not counted. */
const TIMES = 200;
const QUICK_TIMES = 10;
const FEED_LINES = 500;
const UNDER_LOAD = `check-status by transaction ID, ${CONNECTIONS} in flight`;
const LOAD_SECONDS = 5;
const QUICK_LOAD_SECONDS = 1;

interface Kind {
  readonly title: string;
  /** Does it once. */
  readonly run: (measured: Measured) => Promise<unknown>;
  /** How many it is at once; 1 by default. */
  readonly countOf?: number;
  /** Of this many times it is done once. */
  readonly timesShare?: number;
  /** A search of the operator has a budget of its own (search/search.ts), which is a time. */
  readonly isSearch?: boolean;
}

const anyOf = ({ database }: Measured) => transactionOf(Math.floor(Math.random() * database.rows), database.allRows);

const CHECK_STATUS = '/api/v1/check-status';
const SEARCH = '/operator/v1/transactions';

const KINDS: readonly Kind[] = [
  {
    title: 'check-status by transaction ID',
    run: (on) => get(on.publicPool, on, `${CHECK_STATUS}/${anyOf(on).transactionId}`),
  },
  {
    title: 'check-status by reference ID',
    run: (on) => get(on.publicPool, on, `${CHECK_STATUS}?reference_id=${encodeURIComponent(anyOf(on).referenceId)}`),
  },
  { title: 'list: the latest 50', run: (on) => get(on.publicPool, on, '/api/v1/transactions') },
  {
    title: 'search: transaction ID',
    isSearch: true,
    run: (on) => get(on.operatorPool, on, `${SEARCH}?q=${anyOf(on).transactionId}`),
  },
  {
    title: 'search: account number',
    isSearch: true,
    run: (on) => get(on.operatorPool, on, `${SEARCH}?account_number=${anyOf(on).accountNumber}`),
  },
  { title: 'search: the newest', isSearch: true, run: (on) => get(on.operatorPool, on, SEARCH) },
  {
    title: `feed: a line of ${FEED_LINES}`,
    countOf: FEED_LINES,
    timesShare: 10,
    run: (on) => on.feeder.feedAll(on.ids.next(FEED_LINES).map(createdSuccessUpdate)),
  },
  {
    title: 'claim: overdue transactions',
    run: (on) => on.statements.transaction((query) => findNewlyOverdue(query, new Date(0).toISOString(), 500)),
  },
  {
    title: 'claim: status inquiries',
    async run({ statements }) {
      await findRailsWithDueInquiries(statements);
      await claimDueStatusInquiries(statements, { rail: 'bank', leaseMs: 20_000, limit: 32 });
    },
  },
  {
    title: 'claim: callbacks',
    async run({ statements }) {
      await findDueEndpoints(statements);
      await claimDeliveries(statements, { clientId: CLIENT_ID, endpointId: 'none' }, { limit: 32, leaseMs: 20_000 });
    },
  },
];

/** Compares what may depend on how many transactions are stored, and measures retention while requests are served. */
export async function measureScale(context: BenchContext, sizes: ScaleSizes): Promise<ScaleResult> {
  const small = await openMeasured(context, 'scale_small', sizes.smallRows);
  const large = await openMeasured(context, 'scale_large', sizes.largeRows);
  const times = sizes.quick ? QUICK_TIMES : TIMES;
  const lines: string[][] = [];
  const ratios: Ratio[] = [];
  const progress = logProgressOf(context, 'kinds of requests and statements', KINDS.length + 1);
  const add = (title: string, { costs, ratio }: ComparedCosts, budget: Ratio['budget'] = BUDGET): void => {
    lines.push([title, ...costs]);
    ratios.push({
      title: `${title}: ${whole(sizes.largeRows)} / ${whole(sizes.smallRows)}`,
      value: ratio,
      budget,
    });
    progress(1);
  };
  context.logProgress(UNDER_LOAD);
  add(UNDER_LOAD, await compareUnderLoad(context, small, large, sizes.quick));
  for (const kind of KINDS) {
    context.signal.throwIfAborted();
    context.logProgress(kind.title);
    add(kind.title, await compareKind(kind, small, large, times), kind.isSearch === true ? null : BUDGET);
  }
  const processes = await describeProcesses([small, large]);
  const bytes = await describeBytes(large);
  const retention = await measureRetention(context, large, sizes.quick);
  const columns = [sizes.smallRows, sizes.largeRows].flatMap((rows) => [`${whole(rows)}: CPU µs`, 'p50 ms']);
  const text = [
    `transactions of ${whole(CLIENTS)} clients, by Zipf's law; CPU time of the service and of PostgreSQL together, ` +
      `one at a time unless it says otherwise, medians over ${ROUNDS} rounds`,
    '',
    table([['', ...columns], ...lines]),
    '',
    processes,
    '',
    bytes,
    '',
    retention.text,
  ];
  return { text: text.join('\n'), ratios: [...ratios, ...retention.ratios] };
}

interface Cost {
  readonly cpuUs: number;
  readonly p50Ms: number;
}

interface ComparedCosts {
  /** Of few and of many. */
  readonly costs: readonly string[];
  readonly ratio: number;
}

function compareKind(kind: Kind, small: Measured, large: Measured, times: number): Promise<ComparedCosts> {
  const count = Math.ceil(times / (kind.timesShare ?? 1));
  return compareInRounds(small, large, (measured) => measureKind(kind, measured, count));
}

/** Status checks as in the benchmark of requests: as many as the service can answer. */
function compareUnderLoad(
  context: BenchContext,
  small: Measured,
  large: Measured,
  quick: boolean,
): Promise<ComparedCosts> {
  let run = 0;
  return compareInRounds(small, large, async (measured) => {
    const { service, database } = measured;
    const { publicUrl, token } = service.address;
    const requests = checkStatusRequests(publicUrl, token, database);
    const seconds = quick ? QUICK_LOAD_SECONDS : LOAD_SECONDS;
    run += 1;
    const load = { requests, connections: CONNECTIONS, seconds, run, signal: context.signal };
    const result = { answered: Number.NaN, p50Ms: Number.NaN };
    const usedUs = await cpuOf(measured, async () => {
      const { answered, failed, p50Ms } = await context.load.run(load);
      assert.equal(failed, 0, 'status checks failed');
      Object.assign(result, { answered, p50Ms });
    });
    return { cpuUs: usedUs / result.answered, p50Ms: result.p50Ms };
  });
}

async function compareInRounds(
  small: Measured,
  large: Measured,
  measure: (measured: Measured) => Promise<Cost>,
): Promise<ComparedCosts> {
  const costs: { small: Cost; large: Cost }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const cost = { small: await measure(small), large: await measure(large) };
    // The first round warms up.
    if (round > 0) costs.push(cost);
  }
  const figures = (on: 'small' | 'large'): string[] => [
    median(costs.map((each) => each[on].cpuUs)).toFixed(1),
    median(costs.map((each) => each[on].p50Ms)).toFixed(2),
  ];
  return {
    costs: [...figures('small'), ...figures('large')],
    ratio: median(costs.map((each) => each.large.cpuUs / each.small.cpuUs)),
  };
}

async function measureKind({ run, countOf = 1 }: Kind, measured: Measured, times: number): Promise<Cost> {
  const durationsMs: number[] = [];
  const usedUs = await cpuOf(measured, async () => {
    for (let time = 0; time < times; time += 1) {
      const startedMs = performance.now();
      await run(measured);
      durationsMs.push(performance.now() - startedMs);
    }
  });
  return { cpuUs: usedUs / (times * countOf), p50Ms: median(durationsMs) };
}

async function get(pool: Pool, { service }: Measured, path: string): Promise<void> {
  const { statusCode, body } = await pool.request({ path, method: 'GET', headers: headers(service.address.token) });
  const text = await body.text();
  // Figures of wrong responses are worth nothing.
  assert.equal(statusCode, 200, text);
}

async function describeProcesses(all: readonly Measured[]): Promise<string> {
  const lines = await Promise.all(
    all.map(async ({ database, service, startMs, startKib }) => [
      whole(database.allRows),
      whole(startMs),
      whole(startKib / 1024),
      whole((await residentKib(service.pid)) / 1024),
    ]),
  );
  return table([['the service among', 'start ms', 'RSS MiB after the start', 'RSS MiB now'], ...lines]);
}

/** Tables with their indexes and TOAST tables. */
async function describeBytes({ client, database }: Measured): Promise<string> {
  const { rows } = await client.query<{ name: string; heap: number; indexes: number }>(
    `select relname as name, pg_table_size(relid)::float8 / $1 as heap, pg_indexes_size(relid)::float8 / $1 as indexes
       from pg_stat_user_tables where schemaname = 'tiba' order by pg_total_relation_size(relid) desc limit 6`,
    [database.allRows],
  );
  return table([
    ['bytes per transaction', 'table', 'indexes'],
    ...rows.map(({ name, heap, indexes }) => [name, heap.toFixed(1), indexes.toFixed(1)]),
  ]);
}
