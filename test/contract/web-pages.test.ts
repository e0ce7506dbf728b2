import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { documentOf, operationsOf } from '../support/openapi.ts';
import { type Answer, type Envelope, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';

/**
 * docs/contract.md 2.7: what a browser needs before a page of another origin may call the API. Without the setting:
 * http.test.ts; a real browser: client/browser.test.ts.
 */

const APP = 'https://app.example.com';
const LOCAL = 'http://localhost:3000';
const STATUS = '/api/v1/check-status/TB0000000001';

let service: TestService;
let limited: string;
before(async () => {
  service = await startTestService({ settings: { corsOrigins: [APP, LOCAL] } });
  await service.feed(statusUpdate({ status: 'SUCCESS', processed_at: '2026-11-21T04:32:31.402Z' }));
  limited = (await service.addClient('limited', ['status:read'], { 'check-status': 1 })).token;
});
after(() => service?.close());

/** As a browser asks. openapi.json describes no such request. */
async function preflight(path: string, origin: string): Promise<Answer> {
  const response = await fetch(`${service.url}${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,prefer',
    },
  });
  const text = await response.text();
  const json = text.startsWith('{') ? (JSON.parse(text) as Envelope) : { success: response.ok, message: text };
  return { status: response.status, headers: response.headers, text, json };
}

/** Names of a header's list, in lower case. */
const namesIn = (answer: Answer, header: string): string[] =>
  (answer.headers.get(header) ?? '').toLowerCase().split(', ').sort();

const corsHeaders = ({ headers }: Answer): string[] =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

test('a preflight request of an allowed origin gets 204, without a token and without a limit', async () => {
  for (const origin of [APP, LOCAL]) {
    const answer = await preflight('/api/v1/check-account', origin);
    assert.equal(answer.status, 204);
    assert.equal(answer.text, '');
    assert.equal(answer.headers.get('access-control-allow-origin'), origin);
    assert.equal(answer.headers.get('access-control-max-age'), '7200');
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    assert.equal(answer.headers.get('ratelimit'), null);
    assert.match(answer.headers.get('x-request-id') ?? '', /\w/);
    assert.deepEqual(namesIn(answer, 'vary'), ['origin']);
  }
});

test('successes and errors may be read by a page of an allowed origin', async () => {
  const headers = { origin: APP };
  const success = await service.get(STATUS, { headers });
  assertSuccess(success);
  await service.get(STATUS, { headers, token: limited });
  const refused = await service.get(STATUS, { headers, token: limited });
  assertError(refused, 'RATE_LIMIT_EXCEEDED');
  const unauthorized = await service.get(STATUS, { headers, token: null });
  assertError(unauthorized, 'UNAUTHORIZED');
  const noRoute = await service.get('/api/v1/none', { headers });
  assertError(noRoute, 'NOT_FOUND');
  const noMethod = await service.get(STATUS, { headers, method: 'DELETE' });
  assertError(noMethod, 'METHOD_NOT_ALLOWED');
  const notModified = await service.get(STATUS, { headers: { ...headers, 'if-none-match': '"1"' } });
  assert.equal(notModified.status, 304);
  for (const answer of [success, refused, unauthorized, noRoute, noMethod, notModified]) {
    assert.equal(answer.headers.get('access-control-allow-origin'), APP, answer.text);
    assert.ok(namesIn(answer, 'access-control-expose-headers').includes('x-request-id'));
    assert.ok(namesIn(answer, 'vary').includes('origin'), String(answer.headers.get('vary')));
    assert.ok(namesIn(answer, 'vary').includes('accept-language'), String(answer.headers.get('vary')));
  }
});

test('every header and method that openapi.json names is allowed', async () => {
  const document = documentOf('public');
  const operations = operationsOf(document).filter(({ path }) => path.startsWith('/api/'));
  const allowed = await preflight(STATUS, APP);
  for (const { method, path } of operations) {
    assert.ok(namesIn(allowed, 'access-control-allow-methods').includes(method), `${method} ${path}`);
  }
  const sent = operations.flatMap(({ operation }) =>
    (operation.parameters ?? []).flatMap((each) => (each.in === 'header' ? [each.name] : [])),
  );
  assert.ok(sent.includes('idempotency-key'), sent.join());
  for (const name of [...sent, 'accept', 'accept-language', 'authorization', 'content-type']) {
    assert.ok(namesIn(allowed, 'access-control-allow-headers').includes(name.toLowerCase()), name);
  }
  const answer = await service.get(STATUS, { headers: { origin: APP } });
  const exposed = namesIn(answer, 'access-control-expose-headers');
  const readable = new Set(['cache-control', 'content-language', ...exposed]);
  for (const name of Object.keys(document.components.headers)) {
    assert.ok(readable.has(name.toLowerCase()), name);
  }
});

test('what is not exactly an allowed origin is not admitted', async () => {
  for (const origin of [
    'https://other.example.com',
    'https://app.example.com.attacker.example',
    'https://attackerapp.example.com',
    'http://app.example.com',
    'https://app.example.com:8443',
    'HTTPS://APP.EXAMPLE.COM',
    'http://localhost:3001',
    'null',
    '*',
    '',
  ]) {
    const answer = await service.get(STATUS, { headers: { origin } });
    assertSuccess(answer);
    assert.deepEqual(corsHeaders(answer), [], origin);
    assert.ok(namesIn(answer, 'vary').includes('origin'), origin);
    const refusal = await preflight(STATUS, origin);
    assertError(refusal, 'METHOD_NOT_ALLOWED');
    assert.deepEqual(corsHeaders(refusal), [], origin);
  }
});

test('the login, the documents and other paths are not for pages of other origins', async () => {
  for (const path of ['/oauth/token', '/oauth/jwks', '/openapi.json', '/reference', '/']) {
    const answer = await preflight(path, APP);
    assert.ok(answer.status >= 400, `${path}: ${answer.status}`);
    assert.deepEqual(corsHeaders(answer), [], path);
  }
});
