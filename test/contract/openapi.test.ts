import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import Fastify from 'fastify';
import { describeApi, publishApi } from '../../apps/server/src/http/openapi.ts';
import { FILES_PER_MINUTE } from '../../apps/server/src/http/published-files.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { createSlidingWindow } from '../../apps/server/src/rate-limit/sliding-window.ts';
import {
  type Answer,
  type RequestOptions,
  startTestService,
  statusUpdate,
  type TestService,
} from '../support/service.ts';
import { HTTP_STATUSES, TIMESTAMP } from './assertions.ts';
import { checkStatusBatch } from './batch-requests.ts';
import { exchangeOne, openRawConnection, rawRequest } from './raw-connection.ts';
import { untilStatus } from './until.ts';

/** The published description (/openapi.json) agrees with the running service, and with docs/contract.md 7.1. */

interface Operation {
  /** Some have no body: 204 and 304. */
  readonly responses: Readonly<Record<string, { content?: { 'application/json': { schema: object } } }>>;
}
interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: { readonly Error: { properties: { error_code: { enum: string[] } } } } };
}

const BY_ID = '/api/v1/check-status/{transaction_id}';
const BY_REFERENCE = '/api/v1/check-status';
const CHECK_ACCOUNT = '/api/v1/check-account';
const BATCH = '/api/v1/check-status/batch';
const TRANSACTIONS = '/api/v1/transactions';
const ACCOUNT_CHECKS = '/api/v1/account-checks';
const GOOD = { bank_code: '014', account_number: '1234567890' };

const bank: Rail = {
  name: 'bank',
  reaches: ({ bic }) => bic !== 'BRINIDJA',
  inquireAccount({ accountNumber }) {
    const { length } = accountNumber;
    const railCode = '00';
    if (length === 9) return Promise.reject(new Error('a crash'));
    if (length === 8) return Promise.resolve({ kind: 'no_verdict', reason: 'bank_unavailable', railCode });
    if (length === 7) return Promise.resolve({ kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode });
    return Promise.resolve({ kind: 'verdict', verdict: { status: 'ACTIVE', accountName: 'SITI AMINAH' }, railCode });
  },
  close: () => Promise.resolve(),
};

let service: TestService;
let description: Description;
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': TIMESTAMP } });

before(async () => {
  service = await startTestService({ rails: [bank] });
  await service.feed([
    statusUpdate(),
    statusUpdate({
      transaction_id: 'TB0000000002',
      reference_id: 'failed',
      status: 'FAILED',
      failure_reason: 'Closed',
    }),
    statusUpdate({
      transaction_id: 'TB0000000003',
      reference_id: 'big',
      status: 'SUCCESS',
      amount: '9007199254740993.01',
    }),
  ]);
  description = JSON.parse((await service.get('/openapi.json', { token: null })).text) as Description;
});
after(() => service?.close());

/** Answers of each operation, one of every kind that a request can cause. */
async function everyAnswer(): Promise<readonly (readonly [path: string, method: string, answer: Answer])[]> {
  const exhausted = await service.addClient('exhausted', ['status:read', 'account:check'], {
    'check-status': 0,
    'check-account': 0,
  });
  const { token: withoutScope } = await service.addClient('without-scope', ['feed:write']);
  const html = { accept: 'text/html' };
  const authorization = { authorization: `Bearer ${service.alpha.token}` };
  const tooLarge = { ...authorization, 'x-filler': 'x'.repeat(17_000) };

  const status = async (path: string, target: string): Promise<(readonly [string, string, Answer])[]> =>
    [
      await service.get(target),
      await service.get(target, { token: null }),
      await service.get(target, { token: withoutScope }),
      await service.get(target, { token: exhausted.token }),
      await service.get(target, { headers: html }),
      await service.get(target, { headers: { 'if-none-match': '*' } }),
      await service.get(target, { headers: { accept: 'text/event-stream', 'last-event-id': '1' } }),
      await exchangeOne(service.url, rawRequest('GET', target, { headers: tooLarge })),
    ].map((answer) => [path, 'get', answer] as const);

  const account = [
    await service.checkAccount(GOOD),
    await service.checkAccount({ bank_code: '009', account_number: '1234567' }),
    await service.checkAccount({ bank_code: '009', account_number: '12345678' }),
    await service.checkAccount({ bank_code: '009', account_number: '123456789' }),
    await service.checkAccount({ bank_code: 'BRI', account_number: '123456789012345' }),
    await service.checkAccount({}),
    await service.checkAccount({ bank_code: '014' }),
    await service.checkAccount('{'),
    await service.checkAccount('x'.repeat(17_000)),
    await service.checkAccount(GOOD, { headers: { 'content-type': 'text/plain' } }),
    await service.checkAccount(GOOD, { headers: html }),
    await service.checkAccount(GOOD, { token: null }),
    await service.checkAccount(GOOD, { token: withoutScope }),
    await service.checkAccount(GOOD, { token: exhausted.token }),
    await exchangeOne(service.url, rawRequest('POST', CHECK_ACCOUNT, { headers: tooLarge })),
    await timedOut(),
  ].map((answer) => [CHECK_ACCOUNT, 'post', answer] as const);

  return [
    [BY_ID, 'get', await service.get('/api/v1/check-status/TB0000000001')],
    ...(await status(BY_ID, '/api/v1/check-status/failed')),
    ...(await status(BY_ID, '/api/v1/check-status/NONE')),
    ...(await status(BY_ID, '/api/v1/check-status/%00')),
    ...(await status(BY_REFERENCE, '/api/v1/check-status?reference_id=big')),
    ...(await status(BY_REFERENCE, '/api/v1/check-status?reference_id=NONE')),
    ...(await status(BY_REFERENCE, '/api/v1/check-status')),
    ...account,
    ...(await listAnswers({ withoutScope, tooLarge })),
    ...(await batchAnswers({ exhausted: exhausted.token, withoutScope, tooLarge })),
  ];
}

async function listAnswers(requests: {
  readonly withoutScope: string;
  readonly tooLarge: Record<string, string>;
}): Promise<(readonly [path: string, method: string, answer: Answer])[]> {
  const answers = await Promise.all(
    [TRANSACTIONS, ACCOUNT_CHECKS].map(async (path) => [
      [path, 'get', await service.get(`${path}?limit=1`)] as const,
      [path, 'get', await service.get(`${path}?account_number=1234567890`)] as const,
      [path, 'get', await service.get(`${path}?limit=0`)] as const,
      [path, 'get', await service.get(`${path}?account_number=1234567890&bank_code=999`)] as const,
      [path, 'get', await service.get(path, { token: null })] as const,
      [path, 'get', await service.get(path, { token: requests.withoutScope })] as const,
      [path, 'get', await service.get(path, { headers: { accept: 'text/html' } })] as const,
      [path, 'get', await exchangeOne(service.url, rawRequest('GET', path, { headers: requests.tooLarge }))] as const,
    ]),
  );
  return answers.flat();
}

async function batchAnswers(tokens: {
  readonly exhausted: string;
  readonly withoutScope: string;
  readonly tooLarge: Record<string, string>;
}): Promise<(readonly [path: string, method: string, answer: Answer])[]> {
  const good = { ids: ['TB0000000001', 'failed', 'big', 'NONE', '\u0000'] };
  const batch = (body: unknown, options?: RequestOptions): Promise<Answer> => checkStatusBatch(service, body, options);
  return [
    await batch(good),
    await batch({ ids: [] }),
    await batch('{'),
    await batch(' '.repeat(170_000)),
    await batch(good, { headers: { 'content-type': 'text/plain' } }),
    await batch(good, { headers: { accept: 'text/html' } }),
    await batch(good, { token: null }),
    await batch(good, { token: tokens.withoutScope }),
    await batch(good, { token: tokens.exhausted }),
    await exchangeOne(service.url, rawRequest('POST', BATCH, { headers: tokens.tooLarge })),
  ].map((answer) => [BATCH, 'post', answer] as const);
}

async function timedOut(): Promise<Answer> {
  const connection = await openRawConnection(service.url);
  try {
    connection.send(
      rawRequest('POST', CHECK_ACCOUNT, {
        headers: {
          authorization: `Bearer ${service.alpha.token}`,
          'content-type': 'application/json',
          'content-length': '100',
        },
      }),
    );
    const answer = await connection.read();
    assert.ok(answer !== null);
    return answer;
  } finally {
    connection.end();
  }
}

function validatorOf(path: string, method: string, status: number): ValidateFunction {
  const schema = description.paths[path]?.[method]?.responses[status]?.content?.['application/json'].schema;
  assert.ok(schema !== undefined, `${method} ${path} answers ${status}, which is not described`);
  return ajv.compile({ ...schema, unevaluatedProperties: false });
}

test('every answer of the running service is as described, and every described status occurs', async () => {
  const seen = new Set<string>();
  for (const [path, method, answer] of await everyAnswer()) {
    seen.add(`${method} ${path} ${answer.status}`);
    if (description.paths[path]?.[method]?.responses[answer.status]?.content === undefined && answer.text === '')
      continue;
    const validate = validatorOf(path, method, answer.status);
    assert.ok(validate(answer.json), `${method} ${path}: ${answer.text} ${ajv.errorsText(validate.errors)}`);
  }
  // A failed look-up and an unavailable store are tested elsewhere; callbacks and events have tests of their own.
  const elsewhere =
    /(?:check-status|transactions|account-checks).* (?:408|500|503)$|(?:transactions|account-checks) 429$|\/api\/v1\/(?:callback|events)/;
  const documented = new Set([BY_ID, BY_REFERENCE, BATCH, CHECK_ACCOUNT, TRANSACTIONS, ACCOUNT_CHECKS]);
  const described = Object.entries(description.paths).flatMap(([path, methods]) =>
    !documented.has(path)
      ? []
      : Object.entries(methods).flatMap(([method, { responses }]) =>
          Object.keys(responses).map((status) => `${method} ${path} ${status}`),
        ),
  );
  assert.deepEqual(
    described.filter((each) => !seen.has(each) && !elsewhere.test(each)),
    [],
  );
});

test('the description is strict: an answer that deviates from it does not validate', async () => {
  // Compiling the schemas blocked this process, and after a pause the service first confirms that it is current (503).
  const { json, text } = await untilStatus(200, () => service.get('/api/v1/check-status/TB0000000001'));
  const validate = validatorOf(BY_ID, 'get', 200);
  assert.ok(validate(json), `${text} ${ajv.errorsText(validate.errors)}`);
  for (const wrong of [
    { ...json, extra: 1 },
    { ...json, success: false },
    { ...json, meta: {} },
    { ...json, data: { ...json.data, extra: 1 } },
    { ...json, data: { ...json.data, amount: '150000.00' } },
    { ...json, data: { ...json.data, status: 'DONE' } },
    { ...json, data: { ...json.data, created_at: '2026-11-21' } },
  ]) {
    assert.ok(!validate(wrong), JSON.stringify(wrong));
  }
});

test('every error_code of the contract is described, and no other', () => {
  const { enum: described } = description.components.schemas.Error.properties.error_code;
  assert.deepEqual(described.toSorted(), Object.keys(HTTP_STATUSES).sort());
});

test('each status of an operation describes only codes that have this status', () => {
  for (const methods of Object.values(description.paths)) {
    for (const { responses } of Object.values(methods)) {
      for (const [status, { content }] of Object.entries(responses)) {
        type Described = Partial<Description['components']['schemas']['Error']>;
        const { properties } = (content?.['application/json'].schema ?? {}) as Described;
        for (const code of properties?.error_code?.enum ?? []) {
          assert.equal(HTTP_STATUSES[code as keyof typeof HTTP_STATUSES], Number(status), code);
        }
      }
    }
  }
});

/** Regression: its text was serialized for every request, which took milliseconds and needs no token. */
test('the description is serialized once, however often it is requested', async (context) => {
  const app = Fastify();
  context.after(() => app.close());
  await describeApi(app);
  publishApi(
    app,
    createSlidingWindow(() => 0),
  );
  await app.ready();
  let serialized = 0;
  Object.assign(app.swagger(), { toJSON: () => ({ serialized: (serialized += 1) }) });
  for (let turn = 0; turn < 3; turn += 1) assert.equal((await app.inject('/openapi.json')).body, '{"serialized":1}');
});

test('the description has an ETag: 304 if If-None-Match names it', async () => {
  const first = await service.get('/openapi.json', { token: null });
  assert.equal(first.headers.get('content-type'), 'application/json; charset=utf-8');
  const tag = first.headers.get('etag') ?? assert.fail('no ETag');
  const getDescription = (ifNoneMatch: string): Promise<Answer> =>
    service.get('/openapi.json', { token: null, headers: { 'if-none-match': ifNoneMatch } });
  const again = await getDescription(tag);
  assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', tag]);
  assert.equal((await getDescription('"another"')).text, first.text);
});

// The script, 4 MB without compression, was sent again and again to anyone, in full and without a bound.
test('/reference and its script are compressed and have an ETag, and an address is bounded', async () => {
  const bounded = await startTestService({ rails: [], limitClock: () => 0 });
  try {
    const fetchFile = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(bounded.url + path, { headers: { 'accept-encoding': 'identity', ...headers } });
    let requests = 0;
    for (const path of ['/reference/', '/reference/js/scalar.js', '/openapi.json']) {
      const plain = await fetchFile(path);
      const gzipped = await fetchFile(path, { 'accept-encoding': 'br, gzip' });
      const unwanted = await fetchFile(path, { 'accept-encoding': 'gzip;q=0' });
      assert.deepEqual(
        [plain, gzipped, unwanted].map(({ headers }) => [headers.get('content-encoding'), headers.get('vary')]),
        [null, 'gzip', null].map((coding) => [coding, 'Accept-Encoding']),
      );
      assert.ok(Number(gzipped.headers.get('content-length')) < Number(plain.headers.get('content-length')), path);
      // Decoded by fetch.
      assert.equal(await gzipped.text(), await plain.text());
      const tag = gzipped.headers.get('etag') ?? assert.fail('no ETag');
      assert.notEqual(tag, plain.headers.get('etag'));
      const again = await fetchFile(path, { 'accept-encoding': 'gzip', 'if-none-match': tag });
      assert.deepEqual([again.status, await again.text(), again.headers.get('etag')], [304, '', tag]);
      requests += 4;
    }
    for (; requests < FILES_PER_MINUTE; requests += 1) {
      const { status, body } = await fetchFile('/reference/');
      assert.equal(status, 200);
      await body?.cancel();
    }
    const rejected = await bounded.get('/reference/', { token: null });
    assert.deepEqual([rejected.status, rejected.json.error_code], [429, 'RATE_LIMIT_EXCEEDED']);
    assert.equal(rejected.headers.get('retry-after'), '60');
  } finally {
    await bounded.close();
  }
});

test('/reference is a page that shows the description, with a script of its own', async () => {
  const page = await service.get('/reference', { token: null });
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  assert.match(page.text, /"url": ?"\/openapi\.json"/);
  const source = /<script src="([^"]+)"/.exec(page.text)?.[1] ?? assert.fail(page.text);
  const script = await service.get(new URL(source, 'http://this.service/reference/').pathname, { token: null });
  assert.equal(script.status, 200);
  assert.match(script.headers.get('content-type') ?? '', /javascript/);
  assert.match(script.text, /createApiReference/);
});
