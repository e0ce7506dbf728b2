import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { success } from '../../apps/server/src/http/envelope.ts';
import { englishOnly } from '../../apps/server/src/lib/bilingual-text.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { type Answer, send, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess, TIMESTAMP } from './assertions.ts';
import { exchangeOne, rawRequest } from './raw-connection.ts';

/** docs/contract.md 2.1 and 9. */

const INTERNALS = 'password hunter2 in /srv/rails.ts';

/** A rail that rejects, which a rail must never do: this causes an INTERNAL_ERROR. */
const crashingRail: Rail = {
  name: 'crashing',
  reaches: () => true,
  inquireAccount: () => Promise.reject(new Error(INTERNALS)),
  close: () => Promise.resolve(),
};

let service: TestService;
before(async () => {
  service = await startTestService({ rails: [crashingRail] });
  await service.feed([statusUpdate({ account_name: 'SITI “Nur” ÅSA 𝒳', description: 'Gaji – März' })]);
});
after(() => service?.close());

const crash = (): Promise<Answer> => service.checkAccount({ bank_code: '014', account_number: '1234567890' });

suite('2.1 response envelope', () => {
  test('success: success, message, data and meta, in this order and nothing else', async () => {
    const answer = await service.get('/api/v1/check-status/TB0000000001');
    assertSuccess(answer);
    assert.equal(answer.json.success, true);
    assert.equal(typeof answer.json.message, 'string');
    assert.equal(typeof answer.json.data, 'object');
  });

  // Messages were put between quotes unescaped, which was safe only while no message had a quote.
  test('a message is JSON whatever it contains', () => {
    const message = 'use "Retry-After", not \\ or \n';
    assert.equal((JSON.parse(success('en', englishOnly(message), '{}')) as { message: string }).message, message);
  });

  test('meta has only the timestamp: the time of the answer in ISO 8601, UTC, with milliseconds', async () => {
    const startedMs = Date.now();
    const { json } = await service.get('/api/v1/check-status/TB0000000001');
    assert.deepEqual(Object.keys(json.meta ?? {}), ['timestamp']);
    assert.match(json.meta?.timestamp ?? '', TIMESTAMP);
    const timeMs = Date.parse(json.meta?.timestamp ?? '');
    assert.ok(timeMs >= startedMs && timeMs <= Date.now());
  });

  test('error: success, message and error_code, in this order and nothing else', async () => {
    const answer = await service.get('/api/v1/check-status/NONE');
    assert.match(answer.text, /^\{"success":false,"message":"[^"]+","error_code":"TRANSACTION_NOT_FOUND"\}$/);
    assertError(answer, 'TRANSACTION_NOT_FOUND');
  });
});

suite('every JSON answer is in the envelope', () => {
  const request = (method: string, target: string): Promise<Answer> =>
    exchangeOne(
      service.url,
      rawRequest(method, target, { headers: { authorization: `Bearer ${service.alpha.token}` } }),
    );

  test('for an unknown route', async () => {
    for (const path of ['/', '/api', '/api/v1', '/api/v1/unknown', '/api/v1/check-account/', '/favicon.ico', '/%']) {
      assertError(await request('GET', path), 'NOT_FOUND');
    }
  });

  test('for a wrong method', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']) {
      assertError(await request(method, '/api/v1/check-status'), 'METHOD_NOT_ALLOWED');
    }
  });

  test('for a malformed request', async () => {
    assertError(await exchangeOne(service.url, 'GARBAGE\r\n\r\n'), 'INVALID_FORMAT');
  });

  test('for a missing Host, which Node by itself would answer without an envelope', async () => {
    assertError(await exchangeOne(service.url, 'GET /api/v1/check-status/X HTTP/1.1\r\n\r\n'), 'INVALID_FORMAT');
  });

  test('for an unknown expectation, which Node by itself would answer without an envelope', async () => {
    const headers = { authorization: `Bearer ${service.alpha.token}`, expect: 'wonders' };
    const answer = await exchangeOne(service.url, rawRequest('GET', '/api/v1/check-status/NONE', { headers }));
    assertError(answer, 'TRANSACTION_NOT_FOUND');
  });

  test('for an internal error, without its internals; the log has them', async () => {
    const answer = await crash();
    assertError(answer, 'INTERNAL_ERROR');
    assert.doesNotMatch(answer.text, /hunter2|srv|rail/);
    const requestId = answer.headers.get('x-request-id');
    const logged = service.logged.find((line) => line['requestId'] === requestId && 'err' in line);
    assert.match(JSON.stringify(logged), /hunter2/);
  });
});

suite('every answer', () => {
  test('carries an X-Request-Id of its own', async () => {
    const answers = await Promise.all([
      service.get('/api/v1/check-status/TB0000000001'),
      service.get('/api/v1/check-status/TB0000000001'),
      service.get('/api/v1/check-status/TB0000000001', { token: null }),
      service.get('/unknown'),
      service.get('/openapi.json'),
      service.get('/oauth/jwks'),
      service.get('/.well-known/oauth-authorization-server'),
      send(`${service.url}/oauth/token`, { method: 'POST' }),
      exchangeOne(service.url, 'GARBAGE\r\n\r\n'),
      exchangeOne(service.url, 'GARBAGE\r\n\r\n'),
      crash(),
    ]);
    const ids = answers.map(({ headers }) => headers.get('x-request-id') ?? '');
    for (const id of ids) assert.match(id, /^[\w-]{10,}$/);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('has an X-Request-Id that the caller cannot choose', async () => {
    const { headers } = await service.get('/unknown', { headers: { 'x-request-id': 'chosen-by-caller' } });
    assert.notEqual(headers.get('x-request-id'), 'chosen-by-caller');
  });

  test('is UTF-8 and has Cache-Control: no-store', async () => {
    const answer = await service.get('/api/v1/check-status/TB0000000001');
    assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(Number(answer.headers.get('content-length')), Buffer.byteLength(answer.text));
    assert.equal(answer.json.data?.['account_name'], 'SITI “Nur” ÅSA 𝒳');
    assert.equal(answer.json.data?.['description'], 'Gaji – März');
  });
});

suite('9 versioning', () => {
  test('all operations but the login are under /api/v1', async () => {
    const { text } = await service.get('/openapi.json');
    const { paths } = JSON.parse(text) as { paths: Record<string, unknown> };
    for (const path of Object.keys(paths)) assert.match(path, /^\/(?:api\/v1|oauth|\.well-known)\//);
    assert.ok(Object.hasOwn(paths, '/api/v1/check-status') && Object.hasOwn(paths, '/api/v1/check-account'));
  });

  test('nothing is deprecated: no answer has Deprecation or Sunset', async () => {
    for (const answer of [
      await service.get('/api/v1/check-status/TB0000000001'),
      await service.get('/api/v1/check-status?reference_id=NONE'),
      await service.get('/api/v1/transactions'),
      await service.get('/unknown'),
      await crash(),
    ]) {
      assert.deepEqual([answer.headers.get('deprecation'), answer.headers.get('sunset')], [null, null]);
    }
  });

  test('there are no operations outside of it or in another version', async () => {
    for (const prefix of ['', '/api', '/api/v2', '/v1', '/API/V1']) {
      assertError(await service.get(`${prefix}/check-status/TB0000000001`), 'NOT_FOUND');
    }
  });
});
