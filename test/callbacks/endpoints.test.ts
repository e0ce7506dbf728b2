import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, suite, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { EVENT_KINDS } from '../../apps/server/src/domain/event.ts';
import { assertError, TIMESTAMP } from '../contract/assertions.ts';
import { type HttpReceiver, respondWith, startHttpReceiver } from '../support/http-receiver.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import {
  addOwnClient,
  type CallOptions,
  call,
  dataOf,
  ENDPOINTS,
  feedSuccesses,
  openSql,
  register,
} from './endpoints-harness.ts';

/** Registering, reading, changing and testing callback endpoints. */

const KINDS = ['disbursement.succeeded', 'disbursement.failed', 'disbursement.overdue', 'disbursement.reversed'];
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

let service: TestService;
let sql: Awaited<ReturnType<typeof openSql>>;
let receiver: HttpReceiver;
let clientId: string;
let token: string;
before(async () => {
  service = await startTestService({ rails: [] });
  sql = await openSql(service);
});
after(async () => {
  await sql?.end();
  await service?.close();
});
beforeEach(async () => {
  ({ clientId, token } = await addOwnClient(service));
  receiver = await startHttpReceiver();
});
afterEach(() => receiver?.close());

const sendRequest = (method: string, path: string, options: CallOptions = {}): Promise<Answer> =>
  call(service, method, path, { token, ...options });
const registerOwn = (fields: Record<string, unknown> = {}): ReturnType<typeof register> =>
  register(service, fields, token);
const feedOwn = (count: number, changes: Record<string, unknown> = {}): Promise<string[]> =>
  feedSuccesses(service, count, { client_id: clientId, ...changes });

const rowOf = async (endpointId: string): Promise<Record<string, unknown>> =>
  (await sql('select * from tiba.callback_endpoints where endpoint_id = $1', [endpointId]))[0] ?? {};

const change = async (endpointId: string, body: unknown): Promise<Readonly<Record<string, unknown>>> =>
  dataOf(await sendRequest('PATCH', `${ENDPOINTS}/${endpointId}`, { body }));

suite('registering', () => {
  test('returns the secret once: no later response and no log line contains it', async () => {
    const answer = await sendRequest('POST', ENDPOINTS, { body: { url: 'http://localhost:9/tiba?key=hush' } });
    assert.equal(answer.status, 201);
    const { secret, ...endpoint } = dataOf(answer);
    assert.match(String(secret), SECRET);
    assert.deepEqual(Object.keys(endpoint), [
      'endpoint_id',
      'url',
      'kinds',
      'status',
      'disabled_reason',
      'failing_since',
      'created_at',
    ]);
    assert.match(String(endpoint['endpoint_id']), /^ep_[0-9a-f]{20}$/);
    assert.equal(endpoint['url'], 'http://localhost:9/tiba?key=hush');
    assert.deepEqual(endpoint['kinds'], KINDS);
    assert.equal(endpoint['status'], 'enabled');
    assert.equal(endpoint['disabled_reason'], null);
    assert.equal(endpoint['failing_since'], null);
    assert.match(String(endpoint['created_at']), TIMESTAMP);

    const path = `${ENDPOINTS}/${String(endpoint['endpoint_id'])}`;
    assert.deepEqual(dataOf(await sendRequest('GET', path)), endpoint);
    assert.deepEqual(dataOf(await sendRequest('GET', ENDPOINTS)), { endpoints: [endpoint] });
    const logged = JSON.stringify(service.logged);
    assert.ok(!logged.includes(String(secret).slice(6)) && !logged.includes('hush'));
    assert.ok(logged.includes(String(endpoint['endpoint_id'])), 'the log names the endpoint');
  });

  test('stores the secret sealed', async () => {
    const { endpointId, secret } = await registerOwn();
    const { secret_sealed: sealed } = await rowOf(endpointId);
    assert.ok(sealed instanceof Buffer && !sealed.includes(secret.slice(6)));
    assert.equal(createSeal(Buffer.alloc(32, 7)).open(sealed), secret);
  });

  test('without kinds, subscribes only to kinds about disbursements', async () => {
    const { endpointId } = await registerOwn();
    const kinds = async (): Promise<unknown> => dataOf(await sendRequest('GET', `${ENDPOINTS}/${endpointId}`))['kinds'];
    assert.deepEqual(await kinds(), KINDS);
    await change(endpointId, { kinds: [...EVENT_KINDS] });
    assert.deepEqual(await kinds(), EVENT_KINDS);
  });

  test('with kinds, only events of these kinds create deliveries', async () => {
    const { endpointId: all } = await registerOwn();
    const { endpointId: failures } = await registerOwn({ kinds: ['disbursement.failed'] });
    await feedOwn(2);
    await feedOwn(1, { status: 'FAILED', failure_reason: 'Closed' });
    const rows = await sql(
      'select endpoint_id, count(*)::int from tiba.callback_deliveries where client_id = $1 group by 1',
      [clientId],
    );
    assert.deepEqual(
      Object.fromEntries(rows.map((row) => [row['endpoint_id'], row['count']])),
      Object.fromEntries([
        [all, 3],
        [failures, 1],
      ]),
    );
  });

  test('the same URL again is another endpoint, with a secret and deliveries of its own', async () => {
    const url = 'http://127.0.0.1:9/same';
    const [first, second] = [await registerOwn({ url }), await registerOwn({ url })];
    assert.notEqual(first.endpointId, second.endpointId);
    assert.notEqual(first.secret, second.secret);
    await feedOwn(1);
    const rows = await sql(
      'select endpoint_id, count(*)::int from tiba.callback_deliveries where client_id = $1 group by 1',
      [clientId],
    );
    assert.deepEqual(
      Object.fromEntries(rows.map((row) => [row['endpoint_id'], row['count']])),
      Object.fromEntries([first, second].map(({ endpointId }) => [endpointId, 1])),
    );
  });

  test('allows at most ten endpoints, even when they are registered at once', async () => {
    const body = { url: 'http://127.0.0.1:9/' };
    const answers = await Promise.all(Array.from({ length: 25 }, () => sendRequest('POST', ENDPOINTS, { body })));
    assert.equal(answers.filter(({ status }) => status === 201).length, 10);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      assertError(answer, 'ENDPOINT_LIMIT_REACHED', /change the url/);
    }
    // The limit is per client.
    await register(service, {}, (await addOwnClient(service)).token);
  });
});

suite('changing', () => {
  test('leaves omitted fields unchanged', async () => {
    const { endpointId } = await registerOwn({ url: 'http://127.0.0.1:9/one' });
    const kinds = ['disbursement.failed'];
    const narrowed = await change(endpointId, { kinds });
    assert.deepEqual([narrowed['url'], narrowed['kinds']], ['http://127.0.0.1:9/one', kinds]);
    const moved = await change(endpointId, { url: 'http://127.0.0.1:9/two' });
    assert.deepEqual([moved['url'], moved['kinds'], moved['status']], ['http://127.0.0.1:9/two', kinds, 'enabled']);
    assert.deepEqual(dataOf(await sendRequest('GET', `${ENDPOINTS}/${endpointId}`)), moved);
  });

  test('a disabled endpoint gets no new deliveries, and keeps its first reason and time', async () => {
    const { endpointId } = await registerOwn();
    const { status, disabled_reason: reason } = await change(endpointId, { disabled: true });
    assert.deepEqual([status, reason], ['disabled', 'client']);
    await feedOwn(1);
    assert.deepEqual(await sql('select from tiba.callback_deliveries where client_id = $1', [clientId]), []);

    await sql(
      `update tiba.callback_endpoints set disabled_reason = 'gone', disabled_at = '2026-11-01T00:00:00Z'
        where endpoint_id = $1`,
      [endpointId],
    );
    assert.equal((await change(endpointId, { disabled: true }))['disabled_reason'], 'gone');
    const { disabled_at: disabledAt } = await rowOf(endpointId);
    assert.deepEqual(disabledAt, new Date('2026-11-01T00:00:00Z'));
  });

  test('enabling clears failures and makes the whole backlog due at once', async () => {
    const { endpointId } = await registerOwn();
    await change(endpointId, { disabled: true });
    await feedOwn(1);
    await sql(
      `update tiba.callback_endpoints set disabled_reason = 'failing', failing_since = now() - interval '5 days'
        where endpoint_id = $1`,
      [endpointId],
    );
    // More than one statement makes due: copies of the only event.
    await sql(
      `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
       select client_id, sequence + n, occurred_at, version + n, subject_id, kind, data
         from tiba.events, generate_series(1, 2500) n where client_id = $1`,
      [clientId],
    );
    await sql(
      `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, state, next_attempt_at, ended_at)
       select client_id, $2, sequence, case when sequence % 100 = 0 then 'exhausted' else 'pending' end,
              now() + interval '1 day', case when sequence % 100 = 0 then now() end
         from tiba.events where client_id = $1`,
      [clientId, endpointId],
    );
    const enabled = await change(endpointId, { disabled: false });
    assert.deepEqual(
      [enabled['status'], enabled['disabled_reason'], enabled['failing_since']],
      ['enabled', null, null],
    );
    const counts = await sql(
      `select count(*) filter (where state = 'pending' and next_attempt_at > now() + interval '12 hours')::int as late,
              count(*) filter (where state = 'exhausted')::int as exhausted
         from tiba.callback_deliveries where endpoint_id = $1`,
      [endpointId],
    );
    // Exhausted deliveries stay exhausted.
    assert.deepEqual(counts, [{ late: 0, exhausted: 25 }]);
    // Stops callbacks while the next tests run.
    await change(endpointId, { disabled: true });
  });

  test('enabling an enabled endpoint, or its own URL, keeps failing_since, and another URL clears it', async () => {
    const { endpointId } = await registerOwn();
    await sql(`update tiba.callback_endpoints set failing_since = '2026-11-20T00:00:00Z' where endpoint_id = $1`, [
      endpointId,
    ]);
    const { url } = await rowOf(endpointId);
    for (const same of [{ disabled: false }, { url }])
      assert.equal((await change(endpointId, same))['failing_since'], '2026-11-20T00:00:00.000Z');
    assert.equal((await change(endpointId, { url: `${String(url)}/other` }))['failing_since'], null);
  });
});

suite('rotating the secret', () => {
  test('returns the new secret once, and the former one signs too for 24 hours', async () => {
    const { endpointId, secret: former } = await registerOwn();
    const data = dataOf(await sendRequest('POST', `${ENDPOINTS}/${endpointId}/rotate-secret`));
    assert.deepEqual(Object.keys(data), ['endpoint_id', 'secret', 'former_secret_until']);
    assert.match(String(data['secret']), SECRET);
    assert.notEqual(data['secret'], former);
    const leftMs = Date.parse(String(data['former_secret_until'])) - Date.now();
    assert.ok(Math.abs(leftMs - 24 * 3_600_000) < 60_000, String(leftMs));

    const seal = createSeal(Buffer.alloc(32, 7));
    const row = await rowOf(endpointId);
    assert.equal(seal.open(row['secret_sealed'] as Buffer), data['secret']);
    assert.equal(seal.open(row['former_secret_sealed'] as Buffer), former);
    assert.deepEqual(row['former_secret_until'], new Date(String(data['former_secret_until'])));
  });

  test('twice: the secret before the previous one no longer signs', async () => {
    const { endpointId, secret: first } = await registerOwn({ url: receiver.url });
    const rotate = async (): Promise<string> =>
      String(dataOf(await sendRequest('POST', `${ENDPOINTS}/${endpointId}/rotate-secret`))['secret']);
    const [second, third] = [await rotate(), await rotate()];
    await sendRequest('POST', `${ENDPOINTS}/${endpointId}/test`);
    const { body, headers } = receiver.requests[0] ?? assert.fail('nothing was sent');
    const verify = (secret: string): unknown => new Webhook(secret).verify(body, headers as Record<string, string>);
    verify(third);
    verify(second);
    assert.throws(() => verify(first));
  });
});

suite('testing', () => {
  test('sends one signed callback at once and returns the result', async () => {
    const { endpointId, secret } = await registerOwn({ url: receiver.url });
    receiver.respond = respondWith(202, `${'é'.repeat(600)}tail`);
    const data = dataOf(await sendRequest('POST', `${ENDPOINTS}/${endpointId}/test`));
    assert.deepEqual(Object.keys(data), [
      'succeeded',
      'webhook_id',
      'started_at',
      'duration_ms',
      'http_status',
      'answer',
      'error',
    ]);
    assert.deepEqual([data['succeeded'], data['http_status'], data['error']], [true, 202, null]);
    assert.equal(data['answer'], 'é'.repeat(512));
    assert.ok(Number.isInteger(data['duration_ms']));

    assert.equal(receiver.requests.length, 1);
    const { body, headers } = receiver.requests[0] ?? assert.fail();
    assert.equal(headers['webhook-id'], data['webhook_id']);
    const sent = new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;
    assert.equal(sent['type'], 'endpoint.test');
    assert.deepEqual(sent['data'], { endpoint_id: endpointId });
  });

  test('a rejected or unanswered test is returned as a result and does not disable the endpoint', async () => {
    const { endpointId } = await registerOwn({ url: receiver.url });
    receiver.respond = respondWith(410, '');
    const rejected = dataOf(await sendRequest('POST', `${ENDPOINTS}/${endpointId}/test`));
    assert.deepEqual([rejected['succeeded'], rejected['http_status'], rejected['error']], [false, 410, null]);

    const unreachable = await registerOwn({ url: 'http://127.0.0.1:1/' });
    const silent = dataOf(await sendRequest('POST', `${ENDPOINTS}/${unreachable.endpointId}/test`));
    assert.deepEqual([silent['succeeded'], silent['http_status'], silent['answer']], [false, null, null]);
    assert.match(String(silent['error']), /\w/);
    const [one] = await sql(
      'select count(*)::int as disabled from tiba.callback_endpoints where client_id = $1 and disabled_at is not null',
      [clientId],
    );
    assert.equal(one?.['disabled'], 0);
  });

  test('works for a disabled endpoint, so that it can be tested before it is enabled', async () => {
    const { endpointId } = await registerOwn({ url: receiver.url });
    await change(endpointId, { disabled: true });
    assert.equal(dataOf(await sendRequest('POST', `${ENDPOINTS}/${endpointId}/test`))['succeeded'], true);
  });

  test('is limited to 20 per minute for each client', async () => {
    const { endpointId } = await registerOwn({ url: receiver.url });
    const path = `${ENDPOINTS}/${endpointId}/test`;
    const answers = await Promise.all(Array.from({ length: 25 }, () => sendRequest('POST', path)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 20);
    assert.equal(receiver.requests.length, 20);
    for (const answer of answers.filter(({ status }) => status !== 200)) assertError(answer, 'RATE_LIMIT_EXCEEDED');
  });
});

test('operations without a body accept an empty one of any content type', async () => {
  const { endpointId } = await registerOwn();
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
    dataOf(
      await sendRequest('POST', `${ENDPOINTS}/${endpointId}/rotate-secret`, { headers: { 'content-type': type } }),
    );
  }
  dataOf(await sendRequest('POST', `${ENDPOINTS}/${endpointId}/rotate-secret`, { body: {} }));
});
