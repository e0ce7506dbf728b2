import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { pageOf, TRANSACTIONS, targetOf } from './list-requests.ts';

/**
 * docs/decisions/0030-lists-by-keyset.md: a page reads few rows, however many there are and whatever PostgreSQL knows.
 */

const ROWS = 30_000;

let database: TestDatabase;
let service: TestService;
let client: pg.Client;

/** A test service holds answers against the API description, so it is complete. */
const RENDERED = ['1', '0', '1', '2026-11-01T00:00:00.000Z', '2026-11-01T00:00:00.000Z'].join('\u0002');

/** The transactions of a client: one in a thousand is in PROCESS. */
const fill = (clientId: string, rows: number): Promise<unknown> =>
  client.query(
    `insert into tiba.transactions (client_id, transaction_id, reference_id, status, amount, fee, currency, bank_code,
       bank_name, account_number, account_name, description, created_at, processed_at, rendered, expected_by)
     select $1, 'TB' || lpad(n::text, 10, '0'), 'r' || n, case when n % 1000 = 0 then 'PROCESS' else 'SUCCESS' end,
            n, 0, 'IDR', '014', 'x', lpad((n % 3000)::text, 10, '0'), 'x', 'x', at,
            case when n % 1000 <> 0 then at end, $3, '2099-01-01'
       from generate_series(1, $2::integer) as n
      cross join lateral (select timestamptz '2026-11-01' + n * interval '1 second' as at) as by_number`,
    [clientId, rows, RENDERED],
  );

before(async () => {
  database = await createTestDatabase();
  service = await startTestService({ rails: [], database });
  client = new pg.Client(database.connection);
  await client.connect();
  // Analyzed while it is small, and while beta has none: PostgreSQL then expects no rows of beta.
  await fill('alpha', 100);
  await client.query('vacuum analyze tiba.transactions');
  await fill('beta', ROWS);
});
after(async () => {
  await client?.end();
  await service?.close();
  await database?.drop();
});

test('no page reads many more transactions than it has, also of a client that PostgreSQL does not know', async () => {
  const day = { from: '2026-11-01T00:00:00Z', to: '2026-11-01T08:00:00Z' };
  const searches = [
    {},
    { status: 'PROCESS' },
    { status: 'SUCCESS' },
    { account_number: '0000000007' },
    { created_from: day.from, created_to: day.to },
    { processed_from: day.from, processed_to: day.to },
    { bank_code: '014', created_from: day.from, created_to: day.to },
    { overdue: 'true' },
  ];
  let listed = 0;
  for (const parameters of searches) {
    const target = targetOf(TRANSACTIONS, { ...parameters, limit: '20' });
    const first = pageOf(await service.get(target, { token: service.beta.token }), 'transactions');
    listed += first.items.length;
    if (first.link === null) continue;
    listed += pageOf(await service.get(first.link, { token: service.beta.token }), 'transactions').items.length;
  }
  assert.ok(listed > 200, `${listed} transactions were listed`);
  // A connection reports its statistics at the latest when it ends.
  await service.app.close();
  const { rows } = await client.query<{ read: number }>(
    `select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_user_tables
      where relname in ('transactions_in_process', 'transactions_final')`,
  );
  const read = rows[0]?.read ?? Number.NaN;
  assert.ok(read < listed * 5, `${read} rows were read for ${listed} transactions`);
});
