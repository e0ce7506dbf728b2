import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { documentOf, type Listener, operationsOf } from '../support/openapi.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';

/** docs/contract.md 4: HEAD answers as GET does, without a body, wherever GET does, and counts the same. */

const ID = 'TB0000000001';
const STATUS = `/api/v1/check-status/${ID}`;

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.feed([
    // Created now: one that is overdue soon would get another version meanwhile.
    statusUpdate({ transaction_id: ID, reference_id: 'one', created_at: new Date().toISOString() }),
    statusUpdate({ transaction_id: 'TB0000000002', reference_id: 'batch', status: 'SUCCESS' }),
  ]);
});
after(() => service?.close());

type Headers = Readonly<Record<string, string>>;
const authorized = (token = service.alpha.token): Headers => ({ authorization: `Bearer ${token}` });

/** Sends HEAD on a connection of its own, and GET of another route behind it: a body would be read as its answer. */
async function head(target: string, headers: Headers = authorized(), url = service.url): Promise<Answer> {
  const connection = await openRawConnection(url);
  try {
    connection.send(Buffer.concat([rawRequest('HEAD', target, { headers }), rawRequest('GET', '/nowhere')]));
    const answer = await connection.read('head');
    assert.ok(answer !== null, `${target} closed the connection`);
    assertError((await connection.read()) ?? assert.fail(target), 'NOT_FOUND');
    return answer;
  } finally {
    connection.end();
  }
}

/** They differ from one answer to the next. */
const OWN = new Set(['date', 'x-request-id', 'transfer-encoding']);
const headersOf = ({ headers }: Answer): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => !OWN.has(name)));

async function assertSame(target: string, others: Headers = authorized(), url = service.url): Promise<Answer> {
  // fetch would send it by itself.
  const headers = { 'accept-encoding': 'gzip', ...others };
  const get = await send(url + target, { headers });
  const answer = await head(target, headers, url);
  assert.equal(answer.status, get.status, target);
  const [expected, given] = [headersOf(get), headersOf(answer)];
  // fetch manages connections in its own way; the limit counts both requests.
  for (const each of [expected, given]) for (const name of ['connection', 'keep-alive', 'ratelimit']) delete each[name];
  assert.deepEqual(given, expected, target);
  return answer;
}

/** Every GET that the document of a listener describes. */
function describedTargets(listener: Listener): string[] {
  const values: Record<string, string> = { transaction_id: ID, code: 'BCA' };
  const described = operationsOf(documentOf(listener)).filter(({ method }) => method === 'get');
  assert.ok(described.length >= 10);
  return described.map(({ path }) => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? 'none'));
}

/** Every GET of the public listener: those that are described, and the others. */
function publicTargets(): string[] {
  return [
    ...describedTargets('public'),
    '/api/v1/check-status?reference_id=one',
    '/api/v1/check-status/batch',
    '/openapi.json',
    '/reference',
    '/reference/',
    '/reference/js/scalar.js',
    '/docs/service.json',
    '/oauth/jwks',
    '/.well-known/oauth-authorization-server',
  ];
}

test('on every route that has GET: the same status and headers, Content-Length included, and no body', async () => {
  for (const target of publicTargets()) {
    // fetch follows the redirect of /reference.
    if (target === '/reference') assert.equal((await head(target)).status, 301);
    else assert.ok((await assertSame(target)).headers.has('content-length'), target);
  }
});

/** Figures change from one request to the next. */
const OF_ANY_LENGTH = /^\/(?:metrics|operator\/v1\/(?:processes|rails|overview))$/;
/** For the sessions of people: see operator/people.test.ts. */
const OF_PEOPLE = '/operator/v1/session';

test('on the operator listener too: health checks, metrics, lists and its description', async () => {
  const { token } = await service.addClient('operator', ['operator:read', 'audit:read']);
  for (const target of [...describedTargets('operator'), '/openapi-operator.json']) {
    if (target === OF_PEOPLE) continue;
    if (OF_ANY_LENGTH.test(target)) {
      const answer = await head(target, authorized(token), service.operatorUrl);
      assert.deepEqual([answer.status, answer.headers.has('content-length')], [200, true], target);
    } else {
      const { status } = await assertSame(target, authorized(token), service.operatorUrl);
      assert.equal(status, target.split('/').includes('none') ? 404 : 200, target);
    }
  }
});

suite('check-status', () => {
  test('has the ETag, and Retry-After while the status is PROCESS', async () => {
    const { status, headers } = await head(STATUS);
    assert.deepEqual([status, headers.get('etag')], [200, '"1"']);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  });

  test('304 for If-None-Match, without the Content-Length of another answer', async () => {
    const answer = await assertSame(STATUS, { ...authorized(), 'if-none-match': '"1"' });
    assert.deepEqual([answer.status, answer.headers.get('content-length')], [304, null]);
  });

  test('errors have their status and headers too', async () => {
    for (const [target, headers, status] of [
      ['/api/v1/check-status/NONE', authorized(), 404],
      ['/api/v1/check-status/%00', authorized(), 400],
      ['/api/v1/check-status', authorized(), 400],
      [STATUS, {}, 401],
      [STATUS, { ...authorized(), accept: 'text/html' }, 406],
      ['/nowhere', authorized(), 404],
    ] as const) {
      assert.equal((await assertSame(target, headers)).status, status);
    }
  });

  test('waits as GET does', async () => {
    const answer = await assertSame(STATUS, { ...authorized(), prefer: 'wait=0' });
    assert.equal(answer.headers.get('preference-applied'), 'wait=0');
  });

  test('of a stream: the headers at once, and nothing stays open', async () => {
    const answer = await head(STATUS, { ...authorized(), accept: 'text/event-stream' });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/event-stream']);
    assert.equal(service.app.longPollCount(), 0);
  });

  test('counts like GET: both use up the same limit', async () => {
    const { token } = await service.addClient('head-limit', ['status:read'], { 'check-status': 3 });
    const rateLimits: (string | null)[] = [];
    for (const answer of [
      await head(STATUS, authorized(token)),
      await service.get(STATUS, { token }),
      await head('/api/v1/check-status?reference_id=one', authorized(token)),
    ]) {
      rateLimits.push(answer.headers.get('ratelimit')?.replace(/t=\d+/, 't') ?? null);
    }
    assert.deepEqual(rateLimits, ['"check-status";r=2;t', '"check-status";r=1;t', '"check-status";r=0;t']);
    const refused = await head(STATUS, authorized(token));
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  });
});

test('HEAD of a route without GET is METHOD_NOT_ALLOWED, and Allow names HEAD wherever it names GET', async () => {
  const post = await head('/api/v1/check-account');
  assert.deepEqual([post.status, post.headers.get('allow')], [405, 'POST']);
  const { headers } = await service.get(STATUS, { method: 'DELETE' });
  assert.equal(headers.get('allow'), 'GET, HEAD');
});

test('the log line of HEAD names its method and the pattern of its route', async () => {
  await head(STATUS);
  const line = service.logged.findLast(({ method }) => method === 'HEAD');
  assert.equal(line?.['route'], '/api/v1/check-status/:transaction_id');
});
