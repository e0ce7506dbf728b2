import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import pino from 'pino';
import { Webhook } from 'standardwebhooks';
import type { Notifications } from '../../apps/server/src/postgres/notifications.ts';
import { assertError } from '../contract/assertions.ts';
import { listenForDue } from '../support/due-notices.ts';
import { eventually } from '../support/eventually.ts';
import { startHttpReceiver } from '../support/http-receiver.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import {
  addOwnClient,
  call,
  DELIVERIES,
  dataOf,
  ENDPOINTS,
  EVENTS,
  feedSuccesses,
  openSql,
  register,
} from './endpoints-harness.ts';

/** Replaying deliveries, and events that an endpoint missed. */

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let listening: Notifications;
let clientId: string;
let token: string;
/** The endpoints that notifications have named. */
const woken = new Set<string>();
before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
  const { dueNotices, listening: connected } = listenForDue(service.database.connection, pino({ level: 'silent' }));
  dueNotices.subscribe((key) => woken.add(`${key.clientId} ${key.endpointId}`));
  listening = await connected;
});
after(async () => {
  await listening?.close();
  await sql?.end();
  await service?.close();
});
beforeEach(async () => {
  ({ clientId, token } = await addOwnClient(service));
});

const sendRequest = (method: string, path: string, body?: unknown): Promise<Answer> =>
  call(service, method, path, { token, body });
const registerOwn = (fields: Row = {}): ReturnType<typeof register> => register(service, fields, token);
const feedOwn = (count: number, changes: Row = {}): Promise<string[]> =>
  feedSuccesses(service, count, { client_id: clientId, ...changes });

type Row = Record<string, unknown>;

/** Nothing listens there, so that a delivery stays in the outbox. */
const NOWHERE = 'http://127.0.0.1:9/';
const ALWAYS = { from: '2020-01-01T00:00:00Z', to: '2099-01-01T00:00:00+07:00' };

async function replay(body: Row): Promise<Row> {
  return dataOf(await sendRequest('POST', `${DELIVERIES}/replay`, body));
}

/** The deliveries of an endpoint, by sequence. */
const rows = (endpointId: string): Promise<Row[]> =>
  sql(
    `select sequence::int, state, attempts, attempts_before from tiba.callback_outbox
      where endpoint_id = $1 order by 1`,
    [endpointId],
  );

/** Marks a delivery as delivered or exhausted long ago, after ten attempts. */
async function end(endpointId: string, sequence: number, state: 'delivered' | 'exhausted'): Promise<void> {
  await sql(
    state === 'exhausted'
      ? `update tiba.callback_outbox set state = 'exhausted', attempts = 10, ended_at = '2026-11-01T00:00:00Z'
          where endpoint_id = $1 and sequence = $2`
      : `with delivered as (
           delete from tiba.callback_outbox where endpoint_id = $1 and sequence = $2
           returning client_id, endpoint_id, sequence)
         insert into tiba.callback_attempts
           (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status)
         select client_id, endpoint_id, sequence, 10, '2026-11-01T00:00:00Z', 1, 200 from delivered`,
    [endpointId, sequence],
  );
}

/** Feeds events while the endpoint is disabled, so that only a replay creates deliveries. */
async function feedWhileDisabled(endpointId: string, count: number, changes: Row = {}): Promise<void> {
  await sql(
    `update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client' where endpoint_id = $1`,
    [endpointId],
  );
  await feedOwn(count, changes);
  await sql('update tiba.callback_endpoints set disabled_at = null, disabled_reason = null where endpoint_id = $1', [
    endpointId,
  ]);
}

/** Waits until all processes are told of the endpoint. A dispatcher would also find it by its look each second. */
const untilWoken = (endpointId: string): Promise<void> =>
  eventually('dispatchers are woken', () => woken.has(`${clientId} ${endpointId}`));

test('an endpoint that is enabled again wakes dispatchers for what is pending', async () => {
  await feedOwn(1);
  const { endpointId } = await registerOwn({ url: NOWHERE });
  await sql(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     values ($1, $2, 1, now() + interval '1 day')`,
    [clientId, endpointId],
  );
  for (const disabled of [true, false]) {
    assert.equal((await sendRequest('PATCH', `${ENDPOINTS}/${endpointId}`, { disabled })).status, 200);
  }
  await untilWoken(endpointId);
});

suite('a replay of one delivery', () => {
  test('is pending again at once, with a new schedule and continued attempt numbers', async () => {
    await feedOwn(1);
    for (const state of ['exhausted', 'delivered'] as const) {
      const { endpointId } = await registerOwn({ url: NOWHERE });
      await sql(
        `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
         values ($1, $2, 1, now() + interval '1 day')`,
        [clientId, endpointId],
      );
      await end(endpointId, 1, state);
      const data = dataOf(await sendRequest('POST', `${DELIVERIES}/${endpointId}-1/replay`));
      assert.deepEqual([data['state'], data['attempt_count'], data['ended_at']], ['pending', 10, null]);
      assert.ok(Math.abs(Date.parse(String(data['next_attempt_at'])) - Date.now()) < 10_000);
      assert.equal((await rows(endpointId))[0]?.['attempts_before'], 10);
      await untilWoken(endpointId);
    }
  });

  test("is rejected for another client's or an unknown delivery, and while the endpoint is disabled", async () => {
    const { endpointId } = await registerOwn();
    await feedWhileDisabled(endpointId, 1);
    await replay({ endpoint_id: endpointId, ...ALWAYS });
    const path = `${DELIVERIES}/${endpointId}-1/replay`;
    const { token: other } = await addOwnClient(service);
    const otherClients = await call(service, 'POST', path, { token: other });
    assertError(otherClients, 'DELIVERY_NOT_FOUND');
    assert.equal(otherClients.text, (await sendRequest('POST', `${DELIVERIES}/${endpointId}-2/replay`)).text);
    await sql(
      `update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'gone' where endpoint_id = $1`,
      [endpointId],
    );
    assertError(await sendRequest('POST', path), 'ENDPOINT_DISABLED');
  });
});

suite('a replay of a time range', () => {
  test('creates deliveries for events from before the endpoint was registered', async () => {
    await feedOwn(3);
    const { endpointId } = await registerOwn({ url: NOWHERE });
    assert.deepEqual(await rows(endpointId), []);
    const data = await replay({ endpoint_id: endpointId, ...ALWAYS });
    assert.deepEqual(data, {
      endpoint_id: endpointId,
      from: '2020-01-01T00:00:00.000Z',
      to: '2098-12-31T17:00:00.000Z',
      replayed: 3,
      next_after: null,
      has_more: false,
    });
    assert.deepEqual(
      (await rows(endpointId)).map(({ sequence, attempts_before: before }) => [sequence, before]),
      [
        [1, 0],
        [2, 0],
        [3, 0],
      ],
    );
    await untilWoken(endpointId);
  });

  test('creates no deliveries for other kinds, endpoints or clients', async () => {
    const { endpointId: other } = await registerOwn();
    const { endpointId } = await registerOwn({ kinds: ['disbursement.failed'] });
    const failed = { status: 'FAILED', failure_reason: 'Closed' };
    await sql(
      `update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client' where client_id = $1`,
      [clientId],
    );
    await feedOwn(2);
    await feedOwn(1, failed);
    await feedOwn(5, { ...failed, client_id: 'beta' });
    await sql('update tiba.callback_endpoints set disabled_at = null, disabled_reason = null where client_id = $1', [
      clientId,
    ]);
    assert.equal((await replay({ endpoint_id: endpointId, ...ALWAYS }))['replayed'], 1);
    assert.deepEqual(
      (await rows(endpointId)).map(({ sequence }) => sequence),
      [3],
    );
    assert.deepEqual(await rows(other), []);
  });

  test('includes all states, or only the requested one', async () => {
    await feedOwn(4);
    for (const [state, replayed] of [
      ['delivered', [1]],
      ['exhausted', [2]],
      ['pending', [3]],
      ['missing', [4]],
      [undefined, [1, 2, 3, 4]],
    ] as const) {
      const { endpointId } = await registerOwn({ url: NOWHERE });
      await sql(
        `with delivered as (
           insert into tiba.callback_attempts
             (client_id, endpoint_id, sequence, attempt, started_at, duration_ms, http_status)
           values ($1, $2, 1, 7, now(), 1, 200)
         )
         insert into tiba.callback_outbox
           (client_id, endpoint_id, sequence, next_attempt_at, attempts, state, ended_at)
         select $1, $2, n, now() + interval '1 day', 7, s, case when s <> 'pending' then now() end
           from (values (2, 'exhausted'), (3, 'pending')) v (n, s)`,
        [clientId, endpointId],
      );
      const data = await replay({ endpoint_id: endpointId, ...ALWAYS, state });
      assert.equal(data['replayed'], replayed.length);
      const restarted = (await rows(endpointId)).filter(
        ({ sequence, attempts_before: before }) => before === (sequence === 4 ? 0 : 7),
      );
      assert.deepEqual(
        restarted.map(({ sequence }) => sequence),
        replayed,
      );
    }
  });

  /** Regression: callbacks that were delivered longer ago than deliveries are kept were sent again as missing. */
  test('takes events as missing from the time on from which deliveries are kept', async () => {
    const { endpointId } = await registerOwn({ url: NOWHERE });
    await feedWhileDisabled(endpointId, 3);
    await sql(
      `update tiba.events
          set occurred_at = (now() at time zone 'UTC' - (93 - 2 * sequence) * interval '1 day') at time zone 'UTC'
        where client_id = $1 and sequence < 3`,
      [clientId],
    );
    const data = await replay({ endpoint_id: endpointId, ...ALWAYS, state: 'missing' });
    assert.equal(data['replayed'], 2);
    const from = Date.parse(String(data['from']));
    assert.ok(Math.abs(Date.now() - 90 * 24 * 60 * 60 * 1_000 - from) < 60_000, String(data['from']));
    assert.deepEqual(
      (await rows(endpointId)).map(({ sequence }) => sequence),
      [2, 3],
    );

    const old = { endpoint_id: endpointId, from: ALWAYS.from, to: new Date(from - 60_000).toISOString() };
    const refused = await sendRequest('POST', `${DELIVERIES}/replay`, { ...old, state: 'missing' });
    assertError(refused, 'INVALID_REQUEST');
    assert.match(refused.text, /to must be after \d{4}-.*GET \/api\/v1\/events/);
    assert.equal((await replay(old))['replayed'], 1, 'without a state, all events');
  });

  test('includes its start time and excludes its end time', async () => {
    const { endpointId } = await registerOwn();
    await feedWhileDisabled(endpointId, 3);
    await sql(
      `update tiba.events set occurred_at = (timestamp '2026-11-21' + sequence * interval '1 hour') at time zone 'UTC'
        where client_id = $1`,
      [clientId],
    );
    const at = (hour: number): string => `2026-11-21T0${hour}:00:00Z`;
    for (const [from, to, sequences] of [
      [at(1), at(2), [1]],
      [at(2), at(3), [1, 2]],
      [at(3), '2026-11-21T10:00:01.000+07:00', [1, 2, 3]],
    ] as const) {
      assert.equal((await replay({ endpoint_id: endpointId, from, to }))['replayed'], 1);
      assert.deepEqual(
        (await rows(endpointId)).map(({ sequence }) => sequence),
        sequences,
      );
    }
  });

  test('of any length continues from next_after without a gap, even when many events have the same time', async () => {
    const { endpointId } = await registerOwn({ url: NOWHERE });
    await feedWhileDisabled(endpointId, 1);
    // Copies of the only event, at two times.
    await sql(
      `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
       select client_id, sequence + n, occurred_at + case when n > 2500 then interval '1 s' else interval '0' end,
              version + n, subject_id, kind, data
         from tiba.events, generate_series(1, 6000) n where client_id = $1`,
      [clientId],
    );
    for (const [state, total] of [
      ['missing', 6_001],
      ['delivered', 0],
    ] as const) {
      let replayed = 0;
      let after: unknown;
      do {
        const data = await replay({ endpoint_id: endpointId, ...ALWAYS, state, after });
        assert.equal(data['next_after'] !== null, data['has_more']);
        replayed += Number(data['replayed']);
        after = data['next_after'] ?? undefined;
      } while (after !== undefined);
      assert.equal(replayed, total);
      assert.equal((await rows(endpointId)).length, 6_001);
    }
  });

  test('goes on after an event that was removed meanwhile, and not after one that never was', async () => {
    const { endpointId } = await registerOwn({ url: NOWHERE });
    await feedWhileDisabled(endpointId, 4);
    await sql('delete from tiba.events where client_id = $1 and sequence <= 2', [clientId]);
    const range = { endpoint_id: endpointId, ...ALWAYS };
    for (const [position, replayed] of [
      [2, 2],
      [3, 1],
      [4, 0],
    ] as const) {
      assert.equal((await replay({ ...range, after: position }))['replayed'], replayed);
    }
    const ended = { ...range, to: '2020-01-02T00:00:00Z' };
    assert.equal((await replay({ ...ended, after: 2 }))['replayed'], 0);
    const unknown = await sendRequest('POST', `${DELIVERIES}/replay`, { ...range, after: 5 });
    assertError(unknown, 'INVALID_REQUEST', /after must be the next_after/);
  });

  test('three times at once creates each delivery once', async () => {
    const { endpointId } = await registerOwn({ url: NOWHERE });
    await feedWhileDisabled(endpointId, 50);
    const both = await Promise.all([1, 2, 3].map(() => replay({ endpoint_id: endpointId, ...ALWAYS })));
    assert.deepEqual(
      both.map((data) => data['replayed']),
      [50, 50, 50],
    );
    assert.equal((await rows(endpointId)).length, 50);
  });
});

test('a missed event arrives after a replay, with the ID and the data of the event', async () => {
  const [transactionId] = await feedOwn(1, { amount: '9007199254740993.01' });
  const own = await startHttpReceiver();
  try {
    const { endpointId, secret } = await registerOwn({ url: own.url });
    await replay({ endpoint_id: endpointId, ...ALWAYS, state: 'missing' });
    await eventually('a callback arrives', () => own.requests.length > 0);
    const { headers, body } = own.requests[0] ?? assert.fail();
    new Webhook(secret).verify(body, headers as Record<string, string>);
    assert.equal(headers['webhook-id'], `evt_${transactionId}_1`);
    const { text } = await sendRequest('GET', EVENTS);
    const data = /"data":(\{"transaction_id".*?\})/.exec(text)?.[1] ?? assert.fail(text);
    assert.ok(data.includes('"amount":9007199254740993.01'));
    assert.ok(body.includes(data), body);
  } finally {
    await own.close();
  }
});
