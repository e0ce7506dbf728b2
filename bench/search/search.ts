import assert from 'node:assert/strict';
import pg from 'pg';
import { Pool } from 'undici';
import type { BenchContext } from '../bench-context.ts';
import { percentiles } from '../end-to-end/figures.ts';
import type { Ratio } from '../ratios.ts';
import { table } from '../report.ts';
import { headers } from '../requests.ts';
import { type Service, startService } from '../services.ts';
import { CLIENTS, DAYS, makeSearchDatabase, transactionOf } from './fill.ts';
import { measureFirstPages } from './first-pages.ts';

export interface SearchResult {
  readonly text: string;
  readonly ratios: readonly Ratio[];
}

/** Of each kind of search. */
const SEARCH_P99_MS_MAX = 50;
/** Of the first page of each list. */
const LIST_MS_MAX = 1_000;
const LIST_REQUESTS = 20;

type Target = ReturnType<typeof transactionOf>;

interface Kind {
  readonly title: string;
  readonly parameters: (target: Target) => Readonly<Record<string, string>>;
  /** What the answer must contain; null where that depends on the others. */
  readonly finds: ((target: Target) => string) | null;
}

const theTransaction = ({ transactionId }: Target): string => `"transaction_id":"${transactionId}"`;
const theRequest = ({ requestId }: Target): string => `"request_id":"${requestId}"`;

const time = (ms: number): string => new Date(ms).toISOString();

const KINDS: readonly Kind[] = [
  { title: 'q: transaction ID', parameters: ({ transactionId }) => ({ q: transactionId }), finds: theTransaction },
  { title: 'q: reference ID', parameters: ({ referenceId }) => ({ q: referenceId }), finds: theTransaction },
  { title: 'q: rail reference', parameters: ({ railReference }) => ({ q: railReference }), finds: theTransaction },
  { title: 'q: bank reference', parameters: ({ bankReference }) => ({ q: bankReference }), finds: theTransaction },
  { title: 'q: X-EXTERNAL-ID', parameters: ({ externalId }) => ({ q: externalId }), finds: theTransaction },
  { title: 'q: request ID of a check', parameters: ({ requestId }) => ({ q: requestId }), finds: theRequest },
  { title: 'request ID of a check', parameters: ({ requestId }) => ({ request_id: requestId }), finds: theRequest },
  { title: 'q: amount', parameters: ({ amount }) => ({ q: `Rp ${amount}` }), finds: null },
  {
    title: 'q: account number with dashes',
    parameters: ({ accountNumber }) => ({ q: `${accountNumber.slice(0, 4)}-${accountNumber.slice(4)}` }),
    finds: theTransaction,
  },
  { title: 'q: account number', parameters: ({ accountNumber }) => ({ q: accountNumber }), finds: theTransaction },
  {
    title: 'account number, amount and day',
    parameters: ({ accountNumber, amount, day }) => ({ account_number: accountNumber, amount: String(amount), day }),
    finds: theTransaction,
  },
  {
    title: 'amount and day',
    parameters: ({ amount, day }) => ({ amount: String(amount), day, limit: '200' }),
    finds: null,
  },
  { title: 'an amount that none has, and day', parameters: ({ day }) => ({ amount: '77777.77', day }), finds: null },
  { title: 'q: what nothing has', parameters: ({ createdMs }) => ({ q: `none-${createdMs}` }), finds: null },
  { title: 'newest', parameters: () => ({}), finds: null },
  {
    title: 'a time',
    parameters: ({ createdMs }) => ({ created_from: time(createdMs - 60_000), created_to: time(createdMs + 60_000) }),
    finds: null,
  },
  {
    title: 'status FAILED, before a time',
    parameters: ({ createdMs }) => ({ status: 'FAILED', created_to: time(createdMs) }),
    finds: null,
  },
  {
    title: 'status PROCESS, before a time',
    parameters: ({ createdMs }) => ({ status: 'PROCESS', created_to: time(createdMs) }),
    finds: null,
  },
  {
    title: 'client',
    parameters: ({ clientId, createdMs }) => ({ client_id: clientId, created_to: time(createdMs + 1) }),
    finds: theTransaction,
  },
  { title: 'overdue', parameters: () => ({ overdue: 'true' }), finds: null },
];

/**
 * Measures each kind of search for transactions at random among all, and the first page of each list, one request at a
 * time.
 */
export async function measureSearches(
  context: BenchContext,
  { rows, requests }: { readonly rows: number; readonly requests: number },
): Promise<SearchResult> {
  const database = await makeSearchDatabase(context, rows);
  const service = await startService(context, { name: 'search', database });
  const pool = new Pool(service.address.operatorUrl, { connections: 1 });
  context.closers.defer(() => pool.close());
  const lines: string[][] = [];
  const ratios: Ratio[] = [];
  for (const [index, kind] of KINDS.entries()) {
    context.signal.throwIfAborted();
    context.logProgress(`search ${index + 1} of ${KINDS.length}: ${kind.title}`);
    const durationsMs: number[] = [];
    for (let count = 0; count < requests; count += 1) {
      const target = transactionOf(Math.floor(Math.random() * rows), rows);
      durationsMs.push(await request(pool, service, kind, target));
    }
    const { p50Ms, p99Ms } = percentiles(durationsMs);
    lines.push([kind.title, p50Ms.toFixed(1), p99Ms.toFixed(1), Math.max(...durationsMs).toFixed(1)]);
    ratios.push({
      title: `search, ${kind.title}: p99 ms`,
      value: p99Ms,
      budget: { bound: 'at most', value: SEARCH_P99_MS_MAX },
    });
  }
  const { token } = service.address;
  const lists = await measureFirstPages(context, { pool, token, requests: LIST_REQUESTS, rows });
  for (const { title, maxMs } of lists)
    ratios.push({
      title: `list, ${title}: slowest, ms`,
      value: maxMs,
      budget: { bound: 'at most', value: LIST_MS_MAX },
    });
  const size = rows.toLocaleString('en');
  const text = [
    `GET /operator/v1/transactions among ${size} transactions of ${CLIENTS} clients in ${DAYS} days: ` +
      `${requests.toLocaleString('en')} requests of each kind, one at a time`,
    '',
    table([['search', 'p50 ms', 'p99 ms', 'max ms'], ...lines]),
    '',
    `The first page of each list, ${LIST_REQUESTS} requests each`,
    '',
    table([
      ['list', 'p50 ms', 'max ms', 'kB'],
      ...lists.map(({ title, p50Ms, maxMs, kilobytes }) => [
        title,
        p50Ms.toFixed(1),
        maxMs.toFixed(1),
        kilobytes.toFixed(1),
      ]),
    ]),
    '',
    await describeIndexes(database.connectionString, rows),
  ];
  return { text: text.join('\n'), ratios };
}

async function request(pool: Pool, service: Service, kind: Kind, target: Target): Promise<number> {
  const path = `/operator/v1/transactions?${new URLSearchParams(kind.parameters(target)).toString()}`;
  const startedMs = performance.now();
  const { statusCode, body } = await pool.request({ path, method: 'GET', headers: headers(service.address.token) });
  const text = await body.text();
  const durationMs = performance.now() - startedMs;
  // Figures of wrong responses are worth nothing.
  assert.equal(statusCode, 200, text);
  const found = kind.finds?.(target) ?? '';
  assert.ok(text.includes(found), `${kind.title}: ${path} did not find ${found}`);
  return durationMs;
}

async function describeIndexes(connectionString: string, transactions: number): Promise<string> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; bytes: number }>(
      `select indexrelname as name, pg_relation_size(indexrelid)::float8 / $1 as bytes
         from pg_stat_user_indexes where relname = 'transactions_final' order by 2 desc`,
      [transactions],
    );
    return table([['index', 'bytes per transaction'], ...rows.map(({ name, bytes }) => [name, bytes.toFixed(1)])]);
  } finally {
    await client.end();
  }
}
