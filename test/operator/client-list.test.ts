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

test('clients are found by a part of their ID or name, page by page', async () => {
  await service.app.database.query(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     values ('found-1', 'Toko Satu', '\\x00', '{status:read}'), ('other-2', 'Toko FOUND %', '\\x00', '{status:read}'),
            ('z-found_3', 'Toko Tiga', '\\x00', '{status:read}')`,
  );
  const find = async (query: string) => {
    const data = assertSuccess(await engineer.get(`clients?${query}`)) as { clients: Fields[]; next_cursor: string };
    return { ids: data.clients.map((each) => each['client_id']), cursor: data.next_cursor };
  };
  assert.deepEqual((await find('q=found')).ids, ['found-1', 'other-2', 'z-found_3']);
  assert.deepEqual((await find('q=TOKO+SATU')).ids, ['found-1']);
  // No sign of a pattern means another one.
  assert.deepEqual((await find('q=%25')).ids, ['other-2']);
  assert.deepEqual((await find('q=d_3')).ids, ['z-found_3']);
  assert.deepEqual((await find('q=found-1x')).ids, []);

  const { ids, cursor } = await find('q=found&limit=2');
  assert.deepEqual(ids, ['found-1', 'other-2']);
  assert.deepEqual(await find(`q=found&limit=2&cursor=${cursor}`), { ids: ['z-found_3'], cursor: null });
  for (const wrong of [`q=toko&limit=2&cursor=${cursor}`, `limit=2&cursor=${cursor}`, 'q=', 'q=%00', 'q=a&q=b'])
    assertError(await engineer.get(`clients?${wrong}`), 'INVALID_REQUEST');
});
