import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { after, before, suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import { findRunningPostgres } from '../../apps/server/src/embedded-postgres/embedded-postgres.ts';
import { findPostmaster } from '../../apps/server/src/embedded-postgres/postmaster.ts';
import type { FeedReport } from '../../apps/server/src/feed/report.ts';
import { parsePrinted, printed } from '../../apps/server/src/postgres/rendered-transactions.ts';
import { eventually } from '../support/eventually.ts';
import { statusUpdate } from '../support/requests.ts';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import { only } from './harness.ts';
import { processorTimeMs, sampleMemory } from './process-usage.ts';

/** A feed that is far longer than a batch, to a service in its own process. */

const MANY = Number(process.env['LINES'] ?? 70_000);
const MANY_WITHIN_MS = 0.2 * MANY;
/** The number of processor cores that the service and its PostgreSQL can use. */
const CORES = 2;
/**
 * The limit of the service's JavaScript heap, half of which it needs without any feed. If the service retained a
 * kilobyte of each transaction, it would exceed the limit and crash.
 */
const HEAP_MIB = 128;
const GROWTH_MAX_MIB = 200;

const REQUEST_TRANSACTIONS = 2_000;
const KILLS = Number(process.env['KILLS'] ?? 1);
/** Before the first request that is cut off by a kill. */
const WHOLE_REQUESTS = 4;
/** Those that come after the last kill are new to the service. */
const REQUESTS = WHOLE_REQUESTS + KILLS + 3;

suite('a feed of many lines', () => {
  let dataDirectory: string;
  let sandbox: Sandbox;

  before(async () => {
    dataDirectory = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
    sandbox = await startSandbox({
      dataDirectory,
      environment: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` },
    });
  });

  after(async () => {
    try {
      await sandbox?.stop();
    } finally {
      await rm(dataDirectory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  });

  /** Processor time of the service and of its PostgreSQL; 0 if unknown. */
  async function processorMs(): Promise<number> {
    const postmaster = await findPostmaster(path.join(dataDirectory, 'postgres'));
    return (await processorTimeMs([sandbox.pid, postmaster?.pid ?? 0])) ?? 0;
  }

  test(`${MANY} transactions are stored in less than ${MANY_WITHIN_MS / 1000} s, in limited memory`, async (t) => {
    const processorBeforeMs = await processorMs();
    const samples = sampleMemory(sandbox.pid);
    const startedMs = performance.now();
    const report = await feed(sandbox, firstUpdates('TM', MANY));
    const tookMs = performance.now() - startedMs;
    const memory = await samples.stop();
    const costMs = (await processorMs()) - processorBeforeMs;

    reportUsage(t, tookMs, costMs, memory);
    assert.deepEqual(report, only({ inserted: MANY }));
    // On a machine that is busy with other work, the processor time shows how long it would take without.
    const inTime = tookMs < MANY_WITHIN_MS || (costMs > 0 && costMs < CORES * MANY_WITHIN_MS);
    assert.ok(inTime, `took ${Math.round(tookMs)} ms and ${Math.round(costMs)} ms of processor time`);
    if (memory.length === 0) return t.diagnostic('skipped: memory is read from /proc, which does not exist here');
    const [start = 0] = memory;
    assert.ok(Math.max(...memory) - start < GROWTH_MAX_MIB, `from ${start} to ${Math.max(...memory)} MiB`);
  });

  test(`no update is lost or doubled by ${KILLS} kill -9 during feeds, which are repeated`, async () => {
    const acknowledged: string[] = [];
    for (let request = 0; request < WHOLE_REQUESTS; request += 1) {
      const report = await feed(sandbox, bothUpdates(request));
      assert.deepEqual([report.inserted, report.advanced], [REQUEST_TRANSACTIONS, REQUEST_TRANSACTIONS]);
      acknowledged.push(...idsOf(request));
    }

    let survived = new Map<string, string>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = Math.max(survived.size, acknowledged.length);
      // The service is killed when half of this request has been sent and some of that half is stored.
      const half = bothUpdates(WHOLE_REQUESTS + kill).slice(0, REQUEST_TRANSACTIONS);
      const outcome = feed(sandbox, half, { endless: true }).then(
        () => 'answered',
        () => 'cut',
      );
      const atKill = await untilMoreThan(dataDirectory, before);
      await sandbox.kill();
      assert.equal(await outcome, 'cut');
      assert.ok(atKill > before && atKill < before + REQUEST_TRANSACTIONS, `${atKill} stored`);

      sandbox = await startSandbox({ dataDirectory });
      survived = new Map((await stored(dataDirectory)).map((row) => [row.transaction_id, row.status]));
      for (const id of acknowledged) assert.equal(survived.get(id), finalStatus(id), id);
    }

    const totals = { inserted: 0, advanced: 0, unchanged: 0 };
    for (let request = 0; request < REQUESTS; request += 1) {
      const { inserted, advanced, unchanged, conflicts, rejected } = await feed(sandbox, bothUpdates(request));
      totals.inserted += inserted;
      totals.advanced += advanced;
      totals.unchanged += unchanged;
      assert.deepEqual([conflicts, rejected], [[], []]);
    }
    const all = REQUESTS * REQUEST_TRANSACTIONS;
    assert.equal(totals.inserted, all - survived.size);
    assert.equal(totals.inserted + totals.advanced + totals.unchanged, 2 * all);

    const rows = await stored(dataDirectory);
    assert.equal(rows.length, all);
    for (const row of rows) {
      assert.equal(row.status, finalStatus(row.transaction_id));
      assert.match(parsePrinted(row.printed).json, new RegExp(`"status":"${row.status}".*"processed_at":"`));
      assert.equal(row.events, 1, row.transaction_id);
    }
  });
});

const idOf = (prefix: string, number: number): string => `${prefix}${String(number).padStart(10, '0')}`;

function* firstUpdates(prefix: string, count: number): Generator<string> {
  for (let number = 0; number < count; number += 1) yield firstUpdate(idOf(prefix, number));
}

const firstUpdate = (id: string): string =>
  `${JSON.stringify(statusUpdate({ client_id: 'demo-shop', transaction_id: id, reference_id: `INV/${id}` }))}\n`;

const idsOf = (request: number): string[] =>
  Array.from({ length: REQUEST_TRANSACTIONS }, (_, index) => idOf('TK', request * REQUEST_TRANSACTIONS + index));

/** For each transaction of this request a first update and, some lines later, a final one. */
function bothUpdates(request: number): string[] {
  const ids = idsOf(request);
  const lines: string[] = [];
  for (let start = 0; start < ids.length; start += 10) {
    const some = ids.slice(start, start + 10);
    lines.push(...some.map(firstUpdate), ...some.map(finalUpdate));
  }
  return lines;
}

const finalStatus = (id: string): string => (id.endsWith('7') ? 'FAILED' : 'SUCCESS');

function finalUpdate(id: string): string {
  const status = finalStatus(id);
  const reason = status === 'FAILED' ? { failure_reason: 'ACCOUNT_INACTIVE' } : {};
  const processedAt = '2026-11-21T04:32:31.402Z';
  return `${JSON.stringify({ client_id: 'demo-shop', transaction_id: id, status, processed_at: processedAt, ...reason })}\n`;
}

/** `endless`: the body never ends, like that of a core that is still sending. */
async function feed({ description }: Sandbox, lines: Iterable<string>, { endless = false } = {}): Promise<FeedReport> {
  const request = http.request(`${description.operator_url}/feed/v1/transactions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-ndjson',
      authorization: `Bearer ${description.feed.access_token}`,
    },
  });
  const { promise: response, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  request.on('response', resolve).on('error', reject);
  pipeline(Readable.from(chunksOf(lines)), request, { end: !endless }).catch(reject);
  const answer = await response;
  assert.equal(answer.statusCode, 200);
  const { data } = (await json(answer)) as { data: FeedReport & Record<'restored_at' | 'restored_to', unknown> };
  const { restored_at: restoredAt, restored_to: restoredTo, ...report } = data;
  assert.deepEqual([restoredAt, restoredTo], [null, null]);
  return report;
}

/** One write per line would measure the system calls of the test. */
function* chunksOf(lines: Iterable<string>): Generator<string> {
  let chunk = '';
  for (const line of lines) {
    chunk += line;
    if (chunk.length < 32_768) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

interface StoredRow {
  readonly transaction_id: string;
  readonly status: string;
  readonly printed: string;
  readonly events: number;
}

/**
 * The transactions of the second feed, read directly from the database. Events are found by the transaction alone: with
 * the client, PostgreSQL may read all events of the client for each row.
 */
const stored = (dataDirectory: string): Promise<StoredRow[]> =>
  queryDirectly(
    dataDirectory,
    `select transaction_id, status, ${printed('t')} as printed,
            (select count(*)::integer from tiba.events e where e.subject_id = t.transaction_id) as events
       from tiba.transactions t where transaction_id ~ '^TK' order by 1`,
  );

async function queryDirectly<Row extends object>(dataDirectory: string, sql: string): Promise<Row[]> {
  const connectionString = await findRunningPostgres(path.join(dataDirectory, 'postgres'));
  assert.ok(connectionString !== null);
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

const STORED_IDS = "select transaction_id from tiba.transactions where transaction_id ~ '^TK'";

/** The number of stored transactions, as soon as there are more than `count`. */
async function untilMoreThan(dataDirectory: string, count: number): Promise<number> {
  let storedCount = 0;
  const isMore = async (): Promise<boolean> =>
    (storedCount = (await queryDirectly(dataDirectory, STORED_IDS)).length) > count;
  await eventually(`more than ${count} transactions are stored`, isMore, 20_000);
  return storedCount;
}

function reportUsage(t: TestContext, tookMs: number, costMs: number, memory: readonly number[]): void {
  const perSecond = Math.round((MANY / tookMs) * 1000);
  const tenths = Array.from({ length: 11 }, (_, tenth) => memory[Math.round((tenth / 10) * (memory.length - 1))]);
  t.diagnostic(
    `${MANY} transactions in ${Math.round(tookMs)} ms (${perSecond}/s), ${Math.round(costMs)} ms of processor time`,
  );
  t.diagnostic(`resident MiB at each tenth: ${tenths.join(' ')}; peak ${Math.max(...memory)}`);
}
