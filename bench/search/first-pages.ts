import assert from 'node:assert/strict';
import type { Pool } from 'undici';
import type { BenchContext } from '../bench-context.ts';
import { percentiles } from '../end-to-end/figures.ts';
import { headers } from '../requests.ts';
import { transactionOf } from './fill.ts';

interface List {
  readonly title: string;
  readonly path: string;
  /** POST instead of GET. */
  readonly body?: Readonly<Record<string, unknown>>;
}

const ENDPOINT = `ep_${(7).toString(16).padStart(20, '0')}`;

const listsOf = (transactionId: string): readonly List[] => [
  { title: 'overdue', path: 'overdue?limit=1000' },
  { title: 'reviews', path: 'reviews?limit=1000' },
  { title: 'undelivered callbacks', path: 'callback-deliveries?limit=200' },
  { title: 'undelivered callbacks: exhausted', path: 'callback-deliveries?state=exhausted&limit=200' },
  { title: 'undelivered callbacks of a client', path: 'callback-deliveries?client_id=client-7&limit=200' },
  { title: 'callback endpoints: failing', path: 'callback-endpoints?state=failing&limit=1000' },
  { title: 'replays of callbacks', path: 'callback-replays?limit=200' },
  { title: 'running bulk validations', path: 'account-validations?limit=1000' },
  {
    title: 'account checks of a client',
    path: 'account-checks/search',
    body: { client_id: 'client-0', limit: 1_000 },
  },
  {
    title: 'account checks of an account',
    path: 'account-checks/search',
    body: { bank_code: 'BCA', account_number: '1234567890', limit: 1_000 },
  },
  { title: 'undelivered callbacks: pending', path: 'callback-deliveries?state=pending&limit=200' },
  {
    title: 'callbacks of a client and endpoint',
    path: `callback-deliveries?client_id=client-7&endpoint_id=${ENDPOINT}`,
  },
  { title: 'running replays of callbacks', path: 'callback-replays?state=RUNNING&limit=200' },
  { title: 'proposals', path: 'proposals?limit=200' },
  { title: 'proposals that wait', path: 'proposals?state=pending&limit=200' },
  { title: 'sessions', path: 'sessions?limit=1000' },
  { title: 'sessions of a person', path: 'sessions?subject=person-7&limit=1000' },
  { title: 'overview', path: 'overview' },
  { title: 'audit', path: 'audit?limit=200' },
  { title: 'audit of an actor', path: 'audit?actor=actor-7&limit=200' },
  { title: 'audit of a client', path: 'audit?client_id=client-7&limit=200' },
  { title: 'audit of an action that was never done', path: 'audit?action=none&limit=200' },
  { title: 'clients', path: 'clients' },
  { title: 'processes', path: 'processes' },
  { title: 'rails', path: 'rails' },
  { title: 'enumeration', path: 'enumeration' },
  { title: 'banks, a week of all', path: 'banks/availability?days=7' },
  { title: 'banks, 90 days of one', path: 'banks/availability?bank=BCA&days=90' },
  { title: 'one transaction', path: `transactions/${transactionId}` },
  { title: 'timeline of a transaction', path: `transactions/${transactionId}/timeline` },
];

export interface FirstPage {
  readonly title: string;
  readonly p50Ms: number;
  readonly maxMs: number;
  readonly kilobytes: number;
}

export interface FirstPages {
  /** To the operator listener. */
  readonly pool: Pool;
  readonly token: string;
  /** Of each list. */
  readonly requests: number;
  readonly rows: number;
}

/** Measures the first page of each list of the operator, one request at a time. */
export async function measureFirstPages(
  { signal, logProgress }: BenchContext,
  { pool, token, requests, rows }: FirstPages,
): Promise<readonly FirstPage[]> {
  const pages: FirstPage[] = [];
  const lists = listsOf(transactionOf(Math.floor(rows / 2), rows).transactionId);
  for (const [index, list] of lists.entries()) {
    signal.throwIfAborted();
    logProgress(`list ${index + 1} of ${lists.length}: ${list.title}`);
    const durationsMs: number[] = [];
    let bytes = 0;
    for (let count = 0; count < requests; count += 1) {
      const startedMs = performance.now();
      bytes = await readPage(pool, token, list);
      durationsMs.push(performance.now() - startedMs);
    }
    const { p50Ms } = percentiles(durationsMs);
    pages.push({ title: list.title, p50Ms, maxMs: Math.max(...durationsMs), kilobytes: bytes / 1_000 });
  }
  return pages;
}

/** Resolves to the bytes of the page. */
async function readPage(pool: Pool, token: string, { path, body }: List): Promise<number> {
  const request = { path: `/operator/v1/${path}`, headers: headers(token) };
  const { statusCode, body: answer } = await pool.request(
    body === undefined
      ? { ...request, method: 'GET' }
      : {
          ...request,
          method: 'POST',
          headers: { ...request.headers, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        },
  );
  const text = await answer.text();
  // Figures of wrong responses are worth nothing.
  assert.equal(statusCode, 200, `${path}: ${text}`);
  return text.length;
}
