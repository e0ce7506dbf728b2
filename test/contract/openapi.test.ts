import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import Fastify from 'fastify';
import { describeApi } from '../../apps/server/src/http/openapi/describe-api.ts';
import { publicApi } from '../../apps/server/src/http/openapi/public-api.ts';
import { publishDescription } from '../../apps/server/src/http/openapi/publish-api.ts';
import { createFileCounter, createFileSender, FILES_PER_MINUTE } from '../../apps/server/src/http/published-files.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { createSlidingWindow } from '../../apps/server/src/rate-limit/sliding-window.ts';
import { judge } from '../support/described-answers.ts';
import { assertValid, type Document, documentOf, operationsOf, responseOf, validatorOf } from '../support/openapi.ts';
import {
  type Answer,
  type RequestOptions,
  startTestService,
  statusUpdate,
  type TestService,
} from '../support/service.ts';
import { HTTP_STATUSES } from './assertions.ts';
import { checkStatusBatch } from './batch-requests.ts';
import { exchangeOne, openRawConnection, rawRequest } from './raw-connection.ts';
import { untilStatus } from './until.ts';

/** The published description (/openapi.json) agrees with the running service, and with docs/contract.md 7.1. */

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
let description: Document;

before(async () => {
  // One request never arrives.
  service = await startTestService({ rails: [bank], slowPeers: { requestMs: 2_000 } });
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
  description = documentOf('public');
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
      await service.get(target, { headers: { accept: 'text/event-stream', 'last-event-id': '9' } }),
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

test('every answer of the running service is as described, and every described status occurs', async () => {
  const seen = new Set<string>();
  for (const [path, method, answer] of await everyAnswer()) {
    seen.add(`${method} ${path} ${answer.status}`);
    const contentType = answer.headers.get('content-type');
    judge({ listener: 'public', method, path, status: answer.status, contentType, text: answer.text });
  }
  // A failed look-up and an unavailable store are tested elsewhere, and so are malformed requests.
  const elsewhere = / (?:default|500|503|408)$|(?:transactions|account-checks) (?:400|429)$/;
  const documented = new Set([BY_ID, BY_REFERENCE, BATCH, CHECK_ACCOUNT, TRANSACTIONS, ACCOUNT_CHECKS]);
  const described = operationsOf(description)
    .filter(({ path }) => documented.has(path))
    .flatMap(({ path, method, operation }) =>
      Object.keys(operation.responses).map((status) => `${method} ${path} ${status}`),
    );
  assert.deepEqual(
    described.filter((each) => !seen.has(each) && !elsewhere.test(each)),
    [],
  );
});

test('the description is strict: an answer that deviates from it does not validate', async () => {
  // Compiling the schemas blocked this process, and after a pause the service first confirms that it is current (503).
  const { json } = await untilStatus(200, () => service.get('/api/v1/check-status/TB0000000001'));
  const schema = description.components.schemas['TransactionResponse'] ?? assert.fail();
  assertValid(description, schema, json, 'check-status');
  const validate = validatorOf(description, schema);
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

/** The operator's description has them: openapi-operator.json. */
const CODES_OF_OPERATORS = ['PROPOSAL_CONFLICT', 'CLIENT_CONFLICT'];

test('every error_code of the contract is described, and no other', () => {
  type Mapping = { readonly discriminator: { readonly mapping: object } };
  const { mapping } = (description.components.schemas['ErrorResponse'] as Mapping).discriminator;
  assert.deepEqual([...Object.keys(mapping), ...CODES_OF_OPERATORS].toSorted(), Object.keys(HTTP_STATUSES).toSorted());
});

test('each status of an operation describes only codes that have this status', () => {
  for (const { operation } of operationsOf(description)) {
    for (const status of Object.keys(operation.responses).filter((each) => each >= '400' && each !== 'default')) {
      const { content } = responseOf(description, operation, status) ?? assert.fail();
      const { example, examples } = content?.['application/json'] ?? assert.fail();
      for (const { value } of examples === undefined ? [{ value: example }] : Object.values(examples)) {
        const { error_code: code } = value as { error_code?: keyof typeof HTTP_STATUSES };
        if (code !== undefined) assert.equal(HTTP_STATUSES[code], Number(status), code);
      }
    }
  }
});

/** Regression: its text was serialized for every request, which took milliseconds and needs no token. */
test('the description is serialized once, however often it is requested', async (context) => {
  const app = Fastify();
  context.after(() => app.close());
  await describeApi(app, publicApi(true));
  publishDescription(app, '/openapi.json', createFileSender(createSlidingWindow(() => 0)));
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
    for (const path of ['/reference/', '/reference/js/scalar.js', '/reference/js/start.js', '/openapi.json']) {
      const plain = await fetchFile(path);
      const gzipped = await fetchFile(path, { 'accept-encoding': 'br, gzip' });
      const unwanted = await fetchFile(path, { 'accept-encoding': 'gzip;q=0' });
      assert.deepEqual(
        [plain, gzipped, unwanted].map(({ headers }) => [headers.get('content-encoding'), headers.get('vary')]),
        [null, 'gzip', null].map((coding) => [coding, 'Accept-Encoding']),
      );
      assert.ok(Number(gzipped.headers.get('content-length')) < Number(plain.headers.get('content-length')), path);
      // Decoded by fetch.
      const text = await plain.text();
      assert.equal(await gzipped.text(), text);
      assert.equal(await unwanted.text(), text);
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

/** Regression: each address of an IPv6 network had the whole limit. */
test('an IPv6 network of one client counts as one address', () => {
  const count = createFileCounter(
    createSlidingWindow(() => 0),
    2,
  );
  for (const ip of ['2001:db8:1:2::1', '2001:db8:1:2::2', '2001:db8:1:3::1']) count({ ip });
  assert.throws(() => count({ ip: '2001:db8:1:2::3' }), { code: 'RATE_LIMIT_EXCEEDED' });
});

test('/reference is a page with scripts of its own, which may load and call nothing but this service', async () => {
  const page = await service.get('/reference', { token: null });
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
  const policy = page.headers.get('content-security-policy') ?? '';
  for (const directive of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) {
    assert.ok(policy.split('; ').includes(directive), policy);
  }
  const sources = [...page.text.matchAll(/<script src="([^"]+)"/g)].map(([, source = '']) => source);
  const scripts = sources.map((source) => new URL(source, 'http://this.service/reference/').pathname);
  for (const script of scripts) {
    const { status, headers } = await service.get(script, { token: null });
    assert.equal(status, 200);
    assert.match(headers.get('content-type') ?? '', /javascript/);
  }
  const start = await service.get('/reference/js/start.js', { token: null });
  assert.match(start.text, /createApiReference\('#app', \{"url":"\/openapi\.json"/);
});
