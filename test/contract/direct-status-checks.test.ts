import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { request } from 'undici';
import type { Caller } from '../../apps/server/src/auth/authenticator.ts';
import { createDirectStatusCheck } from '../../apps/server/src/http/check-status/direct.ts';
import { addDirectRoute, type BegunRequest } from '../../apps/server/src/http/direct-routes.ts';
import { createServer as createListener } from '../../apps/server/src/http/server.ts';
import { createMetrics } from '../../apps/server/src/observability/metrics.ts';
import type { Span } from '../../apps/server/src/observability/tracing/tracing.ts';
import type { Decision } from '../../apps/server/src/rate-limit/limiter.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, statusUpdate, type TestClient, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { assertError } from './assertions.ts';

/**
 * A plain status check is answered without Fastify (docs/decisions/0063). No client may see a difference, so each
 * request is sent twice: once as it is, and once with a header that only Fastify's route understands.
 */

const FOR_FASTIFY = { 'If-None-Match': '"none"' };
const LIMIT = 60;
const OF_ONE_REQUEST = new Set(['x-request-id', 'ratelimit', 'date']);
const ROUTES = new Set(['/api/v1/check-status/:transaction_id', '/api/v1/check-status']);

const IN_PROCESS = statusUpdate({ transaction_id: 'TB0000000001', reference_id: 'in.process' });
const SPECIAL_ID = 'INV/2026/001 a+b&c=d%2F é 🏦';
const SPECIAL = statusUpdate({ transaction_id: 'TB0000000003', reference_id: SPECIAL_ID });
const FAILED = statusUpdate({
  transaction_id: 'TB0000000002',
  reference_id: 'failed_1',
  status: 'FAILED',
  processed_at: '2026-11-21T04:41:00Z',
  failure_reason: 'ACCOUNT_INACTIVE',
});

let service: TestService;
before(async () => {
  service = await startTestService({ limits: { 'check-status': LIMIT } });
});
after(() => service?.close());

const headersOf = ({ headers }: Answer): string[][] => [...headers].filter(([name]) => !OF_ONE_REQUEST.has(name));
const bodyOf = ({ text }: Answer): string => text.replace(/"timestamp":"[^"]*"/, '');
const remainingOf = ({ headers }: Answer): number => Number(/;r=(\d+);/.exec(headers.get('ratelimit') ?? '')?.[1]);

async function both(
  path: string,
  { token, headers = {} }: { readonly token: string; readonly headers?: Record<string, string> },
): Promise<{ readonly direct: Answer; readonly byFastify: Answer }> {
  const direct = await service.get(path, { token, headers });
  return { direct, byFastify: await service.get(path, { token, headers: { ...headers, ...FOR_FASTIFY } }) };
}

/** A client with these transactions. */
async function addOwnClient(name: string, limit = LIMIT): Promise<TestClient> {
  const client = await service.addClient(name, ['status:read'], { 'check-status': limit });
  const ofClient = { client_id: name };
  await service.feed([
    { ...IN_PROCESS, ...ofClient },
    { ...FAILED, ...ofClient },
    { ...SPECIAL, ...ofClient },
  ]);
  return client;
}

const requestsOf = (status: number): number =>
  service.logged.filter(({ route, status: each }) => ROUTES.has(String(route)) && each === status).length;

suite('a plain status check', () => {
  let clients = 0;
  for (const [status, path] of [
    [200, '/api/v1/check-status/TB0000000001'],
    [200, '/api/v1/check-status/TB0000000002'],
    [200, '/api/v1/check-status/in.process'],
    [200, '/api/v1/check-status?reference_id=failed_1'],
    [200, `/api/v1/check-status?reference_id=${encodeURIComponent(SPECIAL_ID)}`],
    [200, `/api/v1/check-status?reference_id=${encodeURIComponent(SPECIAL_ID).replace('%2F', '/')}`],
    [404, `/api/v1/check-status?reference_id=${encodeURIComponent(encodeURIComponent(SPECIAL_ID))}`],
    [404, `/api/v1/check-status?reference_id=${'%F0%9F%8F%A6'.repeat(128)}`],
    [400, `/api/v1/check-status?reference_id=${'%F0%9F%8F%A6'.repeat(129)}`],
    [400, '/api/v1/check-status?reference_id=a%00b'],
    [400, '/api/v1/check-status?reference_id=a%zz'],
    [400, '/api/v1/check-status?reference_id=a%'],
    [400, '/api/v1/check-status?reference_id=a%ff'],
    [404, '/api/v1/check-status?reference_id=TB0000000002'],
    [404, '/api/v1/check-status/TB0000000009'],
    [404, '/api/v1/check-status/batch'],
    [400, '/api/v1/check-status?reference_id='],
  ] as const) {
    for (const language of ['en', 'id']) {
      test(`${path} in ${language}: the same answer, counted and logged once`, async () => {
        const { token } = await addOwnClient(`direct-${(clients += 1)}`);
        const headers = { 'Accept-Language': language };
        const first = await service.get(path, { token, headers });
        const logged = requestsOf(first.status);
        const { direct, byFastify } = await both(path, { token, headers });
        assert.deepEqual([first.status, direct.status, byFastify.status], [status, status, status]);
        assert.deepEqual(headersOf(direct), headersOf(byFastify));
        assert.equal(bodyOf(direct), bodyOf(byFastify));
        assert.deepEqual([first, direct, byFastify].map(remainingOf), [LIMIT - 1, LIMIT - 2, LIMIT - 3]);
        assert.equal(requestsOf(first.status) - logged, path.endsWith('/batch') ? 0 : 2);
      });
    }
  }

  test('over the limit: 429, as often as the limit says', async () => {
    const client = await addOwnClient('direct-limited', 3);
    const answers: Answer[] = [];
    for (let sent = 0; sent < 5; sent += 1) {
      answers.push(await service.get('/api/v1/check-status/TB0000000002', { token: client.token }));
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 429, 429],
    );
    assert.equal(answers[4]?.json.error_code, 'RATE_LIMIT_EXCEEDED');
  });

  test('without a token, with a wrong one, and without the scope: as Fastify answers', async () => {
    const { token } = await service.addClient('direct-without-scope', ['account:check']);
    const path = '/api/v1/check-status/TB0000000002';
    const wrong = await both(path, { token: `${service.alpha.token}x` });
    assert.deepEqual([wrong.direct.status, wrong.byFastify.status], [401, 401]);
    // The first request of a token is verified by Fastify's route.
    for (let sent = 0; sent < 2; sent += 1) {
      const { direct, byFastify } = await both(path, { token });
      assert.deepEqual([direct.status, byFastify.status], [403, 403]);
      assert.deepEqual(headersOf(direct), headersOf(byFastify));
    }
  });
});

/** While they are not allowed, the service cannot reconnect. */
async function allowConnections(allow: boolean): Promise<void> {
  const { connectionString = '' } = service.database.connection;
  const database = /\/(test_\w+)\?/.exec(connectionString)?.[1] ?? '';
  const administrator = new pg.Client(connectionString.replace(database, 'tiba'));
  await administrator.connect();
  await administrator.query(`alter database ${database} allow_connections ${allow}`);
  await administrator.end();
}

/**
 * Regression: a request that was passed on after its look-up was authenticated a second time. Where the database had
 * gone meanwhile, it was answered as one whose token cannot be verified: later, and without its rate limit headers.
 */
test('a request that was counted is not authenticated again after its look-up', async () => {
  const { token } = await addOwnClient('direct-outage');
  await service.get('/api/v1/check-status/TB0000000002', { token });
  const locking = new pg.Client(service.database.connection);
  await locking.connect();
  try {
    await locking.query('begin');
    await locking.query('lock table tiba.transactions_final in access exclusive mode');
    const answering = service.get('/api/v1/check-status/TB0000000009', { token });
    await eventually('the look-up waits for the lock', async () => {
      const { rowCount } = await locking.query('select from pg_locks where not granted');
      return (rowCount ?? 0) > 0;
    });
    await allowConnections(false);
    // All but this one and the look-up.
    await locking.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and wait_event_type is distinct from 'Lock'`,
    );
    await eventually('no token can be verified', async () => (await service.get('/api/v1/banks')).status === 503);
    await locking.query('rollback');
    const answer = await answering;
    assertError(answer, 'TRANSACTION_NOT_FOUND');
    assert.ok(answer.headers.has('ratelimit'));
  } finally {
    await allowConnections(true);
    await locking.end();
  }
});

suite('which requests are answered directly', () => {
  const found = { version: '1', progress: 'final', rail: null, rendered: '{}' } as const;
  const caller = {
    client: { clientId: 'alpha', limits: { 'check-status': 1 } },
    scopes: new Set(['status:read']),
  } as unknown as Caller;
  const admitted: Decision = { admitted: true, remaining: 0, resetMs: 0 };
  /** The decision of a limiter in this process, or of one that several processes share. */
  let decision: Decision | Promise<Decision> = admitted;
  const createRoute = createDirectStatusCheck({
    authenticator: { knownCaller: (authorization) => (authorization === 'Bearer known' ? caller : null) },
    limiter: { take: () => decision },
    lookUp: {
      find(_clientId, value, _alsoId, callback) {
        if (value === 'faulty') throw new Error('the look-up has a defect');
        callback(null, value === 'none' ? null : found);
      },
    },
    retryAfter: () => '1',
  });
  let answeredBy: string;
  let passedOn: BegunRequest | undefined;
  const server = createServer((request, response) => {
    answeredBy = 'Fastify';
    passedOn = request.begun;
    response.end();
  });
  let isStopping = false;
  let span: Span | undefined;
  const listener = {
    noteResponse: () => {},
    newRequestId: () => 'id',
    sample: () => span,
    record: () => void (answeredBy = 'the route'),
    isStopping: () => isStopping,
  };
  before(async () => {
    addDirectRoute(server, createRoute, listener, () => false);
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => server.close().closeAllConnections());

  async function send(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<string> {
    const { port } = server.address() as AddressInfo;
    const headersTimeout = timeLimitMs(10_000);
    const options = { method, headers: { authorization: 'Bearer known', ...headers }, headersTimeout };
    const response = await request(`http://127.0.0.1:${port}${path}`, options);
    await response.body.dump();
    return answeredBy;
  }

  for (const path of [
    '/api/v1/check-status/TB0000000001',
    '/api/v1/check-status?reference_id=a.b-c_d~1',
    '/api/v1/check-status?reference_id=INV%2F2026/001',
  ]) {
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json', 'accept-language': 'id' }]) {
      test(`GET ${path} with ${JSON.stringify(headers)} is`, async () => {
        assert.equal(await send(path, headers), 'the route');
      });
    }
  }

  for (const [path, headers, method] of [
    ['/api/v1/check-status/none'],
    ['/api/v1/check-status/batch'],
    ['/api/v1/check-status/INV%2F1'],
    ['/api/v1/check-status/TB0000000001/'],
    ['/api/v1/check-status/TB0000000001?a=b'],
    ['/api/v1/check-status?reference_id=a&reference_id=b'],
    ['/api/v1/check-status?reference_id=a+b'],
    ['/api/v1/check-status?reference_id=a%ff'],
    ['/api/v1/check-status?reference_id=%00'],
    ['/api/v1/transactions'],
    ['/api/v1/check-status/TB0000000001', { authorization: 'Bearer unknown' }],
    ['/api/v1/check-status/TB0000000001', { prefer: 'wait=5' }],
    ['/api/v1/check-status/TB0000000001', { accept: 'text/event-stream' }],
    ['/api/v1/check-status/TB0000000001', { 'if-none-match': '"1"' }],
    ['/api/v1/check-status/TB0000000001', { 'cache-control': 'max-age=60' }],
    ['/api/v1/check-status/TB0000000001', {}, 'HEAD'],
  ] as const) {
    test(`${method ?? 'GET'} ${path} with ${JSON.stringify(headers ?? {})} is not`, async () => {
      assert.equal(await send(path, headers, method), 'Fastify');
    });
  }

  test('one that is sampled for a trace is not', async (t) => {
    span = {} as Span;
    t.after(() => (span = undefined));
    assert.equal(await send('/api/v1/check-status/TB0000000001'), 'Fastify');
  });

  // Regression: the exception ended the process, and with a decision of Valkey as an unhandled rejection.
  for (const [where, given] of [
    ['in this process', () => admitted],
    ['by Valkey', async () => admitted],
  ] as const) {
    test(`one that fails unexpectedly, counted ${where}, is not`, async (t) => {
      decision = given();
      t.after(() => (decision = admitted));
      assert.equal(await send('/api/v1/check-status/faulty'), 'Fastify');
      assert.match(String(passedOn?.lookedUp?.error), /the look-up has a defect/);
    });
  }

  test('nothing is while the service stops', async (t) => {
    isStopping = true;
    t.after(() => (isStopping = false));
    assert.equal(await send('/api/v1/check-status/TB0000000001'), 'Fastify');
  });
});

/** Regression: it was answered with 503, after it had been counted and looked up. */
test('a request that was begun before an overload is answered', async (t) => {
  let isOverloaded = false;
  const app = createListener({
    name: 'public',
    log: pino({ level: 'silent' }),
    accessLog: () => {},
    metrics: createMetrics(),
    trustedProxies: [],
    connections: { total: 10, perAddress: 10 },
    tls: null,
    load: { isOverloaded: () => isOverloaded, waitMaxMs: 1_000, noteRejection: () => {} },
    isStopping: () => false,
    directRoute:
      ({ passOn }) =>
      (begunRequest, response) => {
        isOverloaded = true;
        passOn(begunRequest, response, { startedMs: 0 });
        return true;
      },
  });
  t.after(() => app.close());
  app.get('/', (_request, reply) => reply.send('answered'));
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const statuses = [await request(url), await request(url)].map(({ statusCode }) => statusCode);
  assert.deepEqual(statuses, [200, 503]);
});
