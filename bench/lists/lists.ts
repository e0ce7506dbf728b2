import assert from 'node:assert/strict';
import pg from 'pg';
import { Pool } from 'undici';
import type { BenchContext } from '../bench-context.ts';
import type { BenchDatabase } from '../database/databases.ts';
import { residentKib } from '../process-stats.ts';
import { median, type Ratio } from '../ratios.ts';
import { table, whole } from '../report.ts';
import { headers } from '../requests.ts';
import { cpuOf } from '../service-cpu.ts';
import { type Service, startService } from '../services.ts';
import { ACCOUNT, END, IN_PROCESS, LATEST, makeListDatabase } from './fill.ts';

export interface ListSizes {
  readonly smallRows: number;
  readonly largeRows: number;
  /** Of each search. */
  readonly pages: number;
}

export interface ListResult {
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

/** What a page may cost among many transactions, in relation to one among few. */
const BUDGET = 1.2;
const PATH = '/api/v1/transactions';
const ROUNDS = 5;
/** A tenth of the pages, before they are measured. */
const WARM_UP_SHARE = 10;

interface Search {
  readonly title: string;
  readonly query: string;
  /** How many transactions the page has: 50, unless fewer match. */
  readonly found: number;
}

const LATEST_FROM = `created_from=2026-10-31T21:13:21Z`;

/** The same page in every database: what they find is among the latest transactions. */
const SEARCHES: readonly Search[] = [
  { title: 'no filter', query: '', found: 50 },
  { title: 'no filter, 200 a page', query: 'limit=200', found: 200 },
  { title: 'status=PROCESS', query: 'status=PROCESS', found: 50 },
  { title: 'status=PROCESS, all of them', query: 'status=PROCESS&limit=200', found: IN_PROCESS },
  { title: 'status=FAILED', query: 'status=FAILED', found: 50 },
  { title: 'status=SUCCESS', query: 'status=SUCCESS', found: 50 },
  { title: 'overdue=true', query: 'overdue=true', found: 50 },
  { title: 'status=PROCESS, overdue=false', query: 'status=PROCESS&overdue=false&limit=20', found: 20 },
  { title: 'created range', query: 'created_from=2026-10-31T22:00:00Z&created_to=2026-10-31T23:00:00Z', found: 50 },
  {
    title: 'processed range',
    query: 'processed_from=2026-10-31T22:00:00Z&processed_to=2026-10-31T23:00:00Z',
    found: 50,
  },
  { title: 'processed range, FAILED', query: 'status=FAILED&processed_from=2026-10-31T22:00:00Z', found: 50 },
  { title: 'account_number', query: `account_number=${ACCOUNT}`, found: 50 },
  { title: 'account_number, bank_code', query: `account_number=${ACCOUNT}&bank_code=BCA`, found: 50 },
  { title: 'bank_code of many', query: 'bank_code=BCA', found: 50 },
  { title: 'bank_code of few (1 in 200)', query: 'bank_code=147&limit=40', found: 40 },
  { title: 'amount range', query: 'amount_from=1000000&amount_to=2000000', found: 50 },
  { title: 'amount range, created range', query: `${LATEST_FROM}&amount_from=9000000&amount_to=9100000`, found: 50 },
  { title: 'an amount that none has', query: 'amount_from=99999999', found: 0 },
];

/** Compares a page of each search among few and among many transactions, and exports the latest of the many. */
export async function measureLists(context: BenchContext, sizes: ListSizes): Promise<ListResult> {
  const small = await open(context, 'lists_small', sizes.smallRows);
  const large = await open(context, 'lists_large', sizes.largeRows);
  const lines: string[][] = [];
  const ratios: Ratio[] = [];
  for (const search of SEARCHES) {
    context.signal.throwIfAborted();
    context.logProgress(search.title);
    await requestPages(small, search, Math.ceil(sizes.pages / WARM_UP_SHARE));
    await requestPages(large, search, Math.ceil(sizes.pages / WARM_UP_SHARE));
    const costs: { small: Cost; large: Cost }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const pages = Math.ceil(sizes.pages / ROUNDS);
      costs.push({ small: await requestPages(small, search, pages), large: await requestPages(large, search, pages) });
    }
    const figures = [costs.map((each) => each.small), costs.map((each) => each.large)].flatMap((each) => [
      whole(median(each.map(({ cpuUs }) => cpuUs))),
      median(each.map(({ p50Ms }) => p50Ms)).toFixed(1),
    ]);
    lines.push([search.title, ...figures, String(search.found)]);
    ratios.push({
      title: `${search.title}: ${size(sizes.largeRows)} / ${size(sizes.smallRows)}`,
      value: median(costs.map((each) => each.large.cpuUs / each.small.cpuUs)),
      budget: { bound: 'at most', value: BUDGET },
    });
  }
  const columns = [sizes.smallRows, sizes.largeRows].flatMap((rows) => [`${size(rows)}: CPU µs`, 'p50 ms']);
  const text = [
    `a page: CPU time of the service and of PostgreSQL together, one request at a time, medians over ${ROUNDS} rounds`,
    '',
    table([['', ...columns, 'transactions'], ...lines]),
    '',
    await describeIndexes(large),
    '',
    await exportLatest(context, large),
  ];
  return { text: text.join('\n'), ratios };
}

interface Measured {
  readonly database: BenchDatabase;
  readonly service: Service;
  readonly pool: Pool;
  /** To PostgreSQL, for questions about it. */
  readonly client: pg.Client;
}

async function open(context: BenchContext, name: string, rows: number): Promise<Measured> {
  const database = await makeListDatabase(context, name, rows);
  const service = await startService(context, { name, database });
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  const pool = new Pool(service.address.publicUrl, { connections: 1 });
  context.closers.defer(async () => {
    await pool.close();
    await client.end();
  });
  return { database, service, pool, client };
}

interface Cost {
  /** Of a page: the service, and PostgreSQL's processes that work for it. */
  readonly cpuUs: number;
  readonly p50Ms: number;
}

async function requestPages(measured: Measured, search: Search, pages: number): Promise<Cost> {
  const durationsMs: number[] = [];
  const usedUs = await cpuOf(measured, async () => {
    for (let page = 0; page < pages; page += 1) durationsMs.push(await requestPage(measured, search));
  });
  return { cpuUs: usedUs / pages, p50Ms: median(durationsMs) };
}

async function requestPage({ pool, service }: Measured, { title, query, found }: Search): Promise<number> {
  const startedMs = performance.now();
  const path = query === '' ? PATH : `${PATH}?${query}`;
  const { statusCode, body } = await pool.request({ path, method: 'GET', headers: headers(service.address.token) });
  const text = await body.text();
  const durationMs = performance.now() - startedMs;
  // Figures of wrong responses are worth nothing.
  assert.equal(statusCode, 200, text);
  const { data } = JSON.parse(text) as { data: { transactions: unknown[] } };
  assert.equal(data.transactions.length, found, title);
  return durationMs;
}

async function describeIndexes({ client, database }: Measured): Promise<string> {
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `select indexrelname as name, pg_relation_size(indexrelid)::float8 / $1 as bytes
       from pg_stat_user_indexes where relname = 'transactions_final' order by 2 desc`,
    [database.rows],
  );
  return table([['index', 'bytes per transaction'], ...rows.map(({ name, bytes }) => [name, bytes.toFixed(1)])]);
}

/** An export takes ten minutes at most. */
const EXPORTED_MAX = 1_000_000;

/** Reads an export of the latest million, and watches the memory of the service meanwhile. */
async function exportLatest(context: BenchContext, { pool, service, database }: Measured): Promise<string> {
  const rows = Math.min(database.rows, EXPORTED_MAX);
  context.logProgress(`exporting ${size(rows)} …`);
  const createdFrom = new Date(Date.parse(END) - (rows - 1) * 1_000).toISOString();
  const lines: string[] = [];
  for (const accept of ['application/x-ndjson', 'text/csv']) {
    const beforeKib = await residentKib(service.pid);
    let peakKib = beforeKib;
    const startedMs = performance.now();
    const requestHeaders = { ...headers(service.address.token), Accept: accept };
    const { statusCode, body } = await pool.request({
      path: `${PATH}?created_from=${createdFrom}`,
      method: 'GET',
      headers: requestHeaders,
    });
    assert.equal(statusCode, 200);
    let bytes = 0;
    let newlines = 0;
    let nextLookBytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      context.signal.throwIfAborted();
      bytes += chunk.length;
      for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, at + 1)) newlines += 1;
      if (bytes < nextLookBytes) continue;
      nextLookBytes = bytes + 1_000_000;
      peakKib = Math.max(peakKib, await residentKib(service.pid));
    }
    const headerLines = accept === 'text/csv' ? 1 : 0;
    assert.equal(newlines - headerLines, rows, 'an export is incomplete');
    const seconds = (performance.now() - startedMs) / 1_000;
    lines.push(
      `export as ${accept}: ${size(rows)}, ${whole(bytes / 1e6)} MB in ${seconds.toFixed(1)} s ` +
        `(${whole(rows / seconds)} per second); resident memory of the service ${whole(beforeKib / 1024)} MiB ` +
        `before, at most ${whole(peakKib / 1024)} MiB meanwhile`,
    );
  }
  return lines.join('\n');
}

const size = (rows: number): string => rows.toLocaleString('en');

/** The smallest database that has everything that the searches look for. */
export const SMALL_ROWS = LATEST;
