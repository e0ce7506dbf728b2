import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { openSql, register } from './endpoints-harness.ts';

/** The operator's lists over all clients: unhealthy endpoints and overdue transactions. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let token: string;
before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
  ({ token } = await service.addClient('operator', ['operator:read']));
});
after(async () => {
  await sql?.end();
  await service?.close();
});

const sendRequest = (path: string, bearer: string | null = token): Promise<Answer> =>
  send(`${service.operatorUrl}/operator/v1/${path}`, {
    headers: bearer === null ? {} : { authorization: `Bearer ${bearer}` },
  });

test('the lists need a token with the scope operator:read and the operator listener', async () => {
  for (const path of ['callback-endpoints', 'overdue']) {
    assertError(await sendRequest(path, null), 'UNAUTHORIZED');
    for (const { token: other } of [service.alpha, service.core]) {
      assertError(await sendRequest(path, other), 'FORBIDDEN', /operator:read/);
    }
    assertSuccess(await sendRequest(path));
    assertError(await service.get(`/operator/v1/${path}`, { token }), 'NOT_FOUND');
  }
});

test('invalid queries are rejected', async () => {
  assertError(await sendRequest('callback-endpoints?state=enabled'), 'INVALID_REQUEST', /disabled, failing/);
  assertError(await sendRequest('callback-endpoints?state=failing&state=disabled'), 'INVALID_REQUEST', /at most once/);
  for (const path of ['callback-endpoints', 'overdue']) {
    assertError(await sendRequest(`${path}?limit=0`), 'INVALID_REQUEST', /from 1 to 1000/);
  }
  // Regression: overdue?client_id=alpha answered with the transactions of all clients.
  for (const path of ['callback-endpoints', 'overdue', 'reviews', 'account-validations']) {
    assertError(await sendRequest(`${path}?client_id=alpha`), 'INVALID_REQUEST', /a parameter that this list does not/);
  }
});

suite('the list of unhealthy endpoints', () => {
  const ids: Record<string, string> = {};
  before(async () => {
    for (const name of ['healthy', 'failing', 'gone']) {
      const { endpointId } = await register(
        service,
        { url: `http://127.0.0.1:9/${name}?key=hush` },
        name === 'gone' ? service.beta.token : service.alpha.token,
      );
      ids[name] = endpointId;
    }
    await sql(`update tiba.callback_endpoints set failing_since = '2026-11-20T00:00:00Z' where endpoint_id = $1`, [
      ids['failing'],
    ]);
    await sql(
      `update tiba.callback_endpoints set disabled_reason = 'gone', disabled_at = '2026-11-19T00:00:00Z'
        where endpoint_id = $1`,
      [ids['gone']],
    );
  });

  const listed = async (query: string): Promise<Record<string, unknown>[]> =>
    assertSuccess(await sendRequest(`callback-endpoints${query}`))['endpoints'] as Record<string, unknown>[];

  test('has those of all clients, the longest first, with time and reason, and no query of a URL', async () => {
    const endpoints = await listed('');
    assert.deepEqual(
      endpoints.map((each) => Object.fromEntries(Object.entries(each).filter(([name]) => name !== 'created_at'))),
      [
        {
          client_id: 'beta',
          endpoint_id: ids['gone'],
          origin: 'http://127.0.0.1:9',
          status: 'disabled',
          disabled_reason: 'gone',
          disabled_at: '2026-11-19T00:00:00.000Z',
          failing_since: null,
        },
        {
          client_id: 'alpha',
          endpoint_id: ids['failing'],
          origin: 'http://127.0.0.1:9',
          status: 'failing',
          disabled_reason: null,
          disabled_at: null,
          failing_since: '2026-11-20T00:00:00.000Z',
        },
      ],
    );
  });

  test('can be filtered by state and limited', async () => {
    const only = async (query: string): Promise<unknown[]> => (await listed(query)).map((each) => each['endpoint_id']);
    assert.deepEqual(await only('?state=failing'), [ids['failing']]);
    assert.deepEqual(await only('?state=disabled'), [ids['gone']]);
    const { endpoints, has_more: hasMore } = assertSuccess(await sendRequest('callback-endpoints?limit=1'));
    assert.deepEqual([(endpoints as unknown[]).length, hasMore], [1, true]);
  });
});

test('overdue transactions have exact amounts and masked account numbers, the longest overdue first', async () => {
  const feed = (id: string, more: Record<string, unknown>): Promise<Answer> =>
    service.feed([
      statusUpdate({ transaction_id: id, reference_id: `of ${id}`, created_at: '2026-01-01T00:00:00Z', ...more }),
    ]);
  await feed('TO0000000001', { amount: '9007199254740993.01' });
  await service.app.transactionUpdater.markOverdue(new Date('2026-06-01T00:00:00Z'), 10);
  await feed('TO0000000002', { client_id: 'beta', account_number: '9876501234' });
  await feed('TO0000000003', { created_at: new Date().toISOString() });
  await service.app.transactionUpdater.markOverdue(new Date(), 10);

  const answer = await sendRequest('overdue');
  const { transactions, has_more: hasMore } = assertSuccess(answer);
  const [first, second, ...others] = transactions as Record<string, unknown>[];
  assert.deepEqual([others, hasMore], [[], false]);
  assert.deepEqual(Object.keys(first ?? {}), [
    'client_id',
    'transaction_id',
    'reference_id',
    'bank_code',
    'bank_name',
    'account_number',
    'amount',
    'currency',
    'created_at',
    'expected_by',
    'overdue_since',
  ]);
  assert.deepEqual([first?.['client_id'], first?.['transaction_id']], ['alpha', 'TO0000000001']);
  assert.deepEqual([second?.['client_id'], second?.['reference_id']], ['beta', 'of TO0000000002']);
  assert.ok(answer.text.includes('"amount":9007199254740993.01,'), answer.text);
  assert.equal(second?.['account_number'], '******1234');
  assert.ok(!answer.text.includes('9876501234'));
  assert.equal(first?.['expected_by'], '2026-01-01T00:30:00.000Z');
  assert.equal(assertSuccess(await sendRequest('overdue?limit=1'))['has_more'], true);
});
