import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { type Browser, logIn } from './browser.ts';

/** The list of clients, of which an installation may have thousands. */

type Fields = Readonly<Record<string, unknown>>;

let service: TestService;
let engineer: Browser;

before(async () => {
  service = await startTestService({ rails: [] });
  engineer = await logIn(service, { subject: 'eka@example.com', name: 'Eka', role: 'engineer' });
});
after(() => service?.close());

test('clients are listed page by page in the order of their IDs, and each is read by its own', async () => {
  await service.app.database.query(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     select 'page-' || n, 'x', '\\x00', '{status:read}' from generate_series(1, 60) as n`,
  );
  const all = (await service.app.database.query('select client_id from tiba.clients'))
    .map((row) => String(row['client_id']))
    .toSorted();
  const list = async (query = '') =>
    assertSuccess(await engineer.get(`clients${query}`)) as {
      clients: Fields[];
      next_cursor: string;
      has_more: boolean;
    };
  const idsOf = (clients: readonly Fields[]): unknown[] => clients.map((each) => each['client_id']);

  const first = await list();
  assert.deepEqual([idsOf(first.clients), first.has_more], [all.slice(0, 50), true]);
  const found: unknown[] = [];
  for (let query = '?limit=7'; ; ) {
    const { clients, next_cursor: cursor, has_more: hasMore } = await list(query);
    assert.ok(clients.length <= 7);
    found.push(...idsOf(clients));
    if (!hasMore) break;
    query = `?limit=7&cursor=${cursor}`;
  }
  assert.deepEqual(found, all);
  const next = `</operator/v1/clients?limit=60&cursor=${(await list('?limit=60')).next_cursor}>; rel="next"`;
  assert.equal((await engineer.get('clients?limit=60')).headers.get('link'), next);

  assert.deepEqual(assertSuccess(await engineer.get(`clients/${all[7]}`)), first.clients[7]);
  for (const id of ['none', '%00']) assertError(await engineer.get(`clients/${id}`), 'NOT_FOUND');
  await logIn(service, { subject: 'budi@example.com', name: 'Budi Santoso', role: 'approver' });
  const { next_cursor: ofAudit } = assertSuccess(await engineer.get('audit?limit=1'));
  assert.equal(typeof ofAudit, 'string');
  for (const wrong of ['limit=0', 'limit=201', `cursor=${String(ofAudit)}`, 'name=x'])
    assertError(await engineer.get(`clients?${wrong}`), 'INVALID_REQUEST');
});
