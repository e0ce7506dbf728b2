import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { whileDatabaseRefuses } from '../support/database-outage.ts';
import { type Answer, send, startTestService, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { checkStatusBatch } from './batch-requests.ts';
import { exchangeOne, openRawConnection, rawRequest } from './raw-connection.ts';
import { untilStatus } from './until.ts';

/** docs/contract.md 7.1: one test for each row of the table. The order of checks: order-of-checks.test.ts */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

const GOOD = { bank_code: '014', account_number: '1234567890' };
const STATUS_PATH = '/api/v1/check-status/NONE';

suite('UNAUTHORIZED', () => {
  test('on every operation: 401 with WWW-Authenticate, and the message names an invalid or expired token', async () => {
    for (const answer of [
      await service.get(STATUS_PATH, { token: 'bad' }),
      await service.get('/api/v1/check-status?reference_id=NONE', { token: 'bad' }),
      await service.checkAccount(GOOD, { token: 'bad' }),
    ]) {
      assertError(answer, 'UNAUTHORIZED', /invalid or expired token/i);
      assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer /);
    }
  });
});

suite('check-status', () => {
  test('TRANSACTION_NOT_FOUND: 404 when no transaction matches, by path and by query', async () => {
    assertError(await service.get('/api/v1/check-status/TB0000000009'), 'TRANSACTION_NOT_FOUND');
    assertError(await service.get('/api/v1/check-status?reference_id=INV-9'), 'TRANSACTION_NOT_FOUND');
  });

  test('INVALID_TRANSACTION_ID: 400 when it can be neither kind of identifier', async () => {
    assertError(await service.get('/api/v1/check-status/%00'), 'INVALID_TRANSACTION_ID');
    assertError(await service.get('/api/v1/check-status'), 'INVALID_TRANSACTION_ID', /once, or .* in the path$/);
  });

  /** Regression: it asked for reference_id, and did not say that the parameter that was given is unknown. */
  test('INVALID_TRANSACTION_ID: names the parameter that stands in place of reference_id', async () => {
    const unknown = /give reference_id exactly once.*; there is no parameter reference$/;
    assertError(await service.get('/api/v1/check-status?reference=INV'), 'INVALID_TRANSACTION_ID', unknown);
    // What may be an identifier of a customer is not repeated.
    const answer = await service.get('/api/v1/check-status?INV-123456=');
    assertError(answer, 'INVALID_TRANSACTION_ID', /in the path$/);
  });
});

suite('check-account', () => {
  test('INVALID_BANK_CODE: 400 for an unknown bank, and when bank_code is missing or not a string', async () => {
    for (const bank_code of ['999', 'NOPE', '', undefined, null, 14, true, ['014'], { code: '014' }]) {
      assertError(await service.checkAccount({ ...GOOD, bank_code }), 'INVALID_BANK_CODE');
    }
  });

  test('INVALID_FORMAT: 400 when account_number is missing, not a string or malformed', async () => {
    for (const account_number of ['', '12-34', undefined, null, 1234567890, true, ['1234567890'], {}]) {
      const answer = await service.checkAccount({ ...GOOD, account_number });
      assertError(answer, 'INVALID_FORMAT', /invalid account number format/i);
    }
  });

  test('INVALID_FORMAT: 400 when the body is not a JSON object', async () => {
    for (const body of ['', '{', '[]', '"014"', 'null', '12', 'true', '[{"bank_code":"014"}]']) {
      assertError(await service.checkAccount(body), 'INVALID_FORMAT', /invalid format/i);
    }
  });
});

suite('SERVICE_UNAVAILABLE', () => {
  test('503 with Retry-After when the bank cannot answer, without a statement about the account', async () => {
    const answer = await service.checkAccount({ ...GOOD, account_number: '1234560503' });
    assertError(answer, 'SERVICE_UNAVAILABLE');
    assert.ok(!answer.text.includes('NOT_FOUND'));
  });

  test('503 with Retry-After on every operation while the database cannot answer, and success after', async () => {
    await whileDatabaseRefuses(service.database, async () => {
      assertError(await untilStatus(503, () => service.get(STATUS_PATH)), 'SERVICE_UNAVAILABLE');
      // Account checks need no database: they go on until disabled clients can no longer be told from others.
      assertError(await untilStatus(503, () => service.checkAccount(GOOD)), 'SERVICE_UNAVAILABLE');
      assertError(await checkStatusBatch(service, { ids: ['NONE'] }), 'SERVICE_UNAVAILABLE');
    });
    assertError(await untilStatus(404, () => service.get(STATUS_PATH)), 'TRANSACTION_NOT_FOUND');
    assertSuccess(await service.checkAccount(GOOD));
    assertSuccess(await checkStatusBatch(service, { ids: ['NONE'] }));
  });
});

suite('errors of every operation', () => {
  test('RATE_LIMIT_EXCEEDED: 429 with Retry-After, RateLimit and RateLimit-Policy', async () => {
    const { token } = await service.addClient('frugal', ['status:read', 'account:check'], {
      'check-status': 1,
      'check-account': 1,
    });
    for (const request of [() => service.get(STATUS_PATH, { token }), () => service.checkAccount(GOOD, { token })]) {
      assert.notEqual((await request()).status, 429);
      const answer = await request();
      assertError(answer, 'RATE_LIMIT_EXCEEDED');
      assert.ok(answer.headers.has('ratelimit') && answer.headers.has('ratelimit-policy'));
    }
  });

  test('FORBIDDEN: 403 for a valid token without the scope of the operation', async () => {
    const checker = await service.addClient('checker', ['account:check']);
    const reader = await service.addClient('reader', ['status:read']);
    for (const [answer, scope] of [
      [await service.get(STATUS_PATH, { token: checker.token }), 'status:read'],
      [await service.checkAccount(GOOD, { token: reader.token }), 'account:check'],
    ] as const) {
      assertError(answer, 'FORBIDDEN');
      // RFC 6750, section 3.1.
      const challenge = `Bearer realm="tiba", error="insufficient_scope", scope="${scope}"`;
      assert.equal(answer.headers.get('www-authenticate'), challenge);
    }
    assertSuccess(await service.checkAccount(GOOD, { token: checker.token }));
    assertError(await service.get(STATUS_PATH, { token: reader.token }), 'TRANSACTION_NOT_FOUND');
  });

  test('NOT_FOUND: 404 when there is no such route', async () => {
    assertError(await service.get('/api/v1/nothing'), 'NOT_FOUND', /listed at \/reference/);
    // Regression: the first address that a person opens named files only.
    for (const path of ['/', '/nothing']) {
      const answer = await send(`${service.operatorUrl}${path}`, {});
      assertError(answer, 'NOT_FOUND', /the console is at \/console\/.* listed in docs\/operating\.md/);
    }
  });

  test('METHOD_NOT_ALLOWED: 405 with Allow', async () => {
    for (const [path, allow] of [
      [STATUS_PATH, 'GET, HEAD'],
      ['/api/v1/check-status', 'GET, HEAD'],
      ['/api/v1/check-account', 'POST'],
    ] as const) {
      const answer = await service.get(path, { method: 'DELETE' });
      assertError(answer, 'METHOD_NOT_ALLOWED', new RegExp(`use ${allow}$`));
      assert.equal(answer.headers.get('allow'), allow);
    }
  });

  const ACCEPTABLE = [
    'application/json',
    'application/*',
    '*/*',
    'APPLICATION/JSON',
    'text/html, application/json',
    'text/html,*/*;q=0.1',
    'application/json;q=0.001',
    '*/*;q=0, application/json',
    ' application/json ; q=1',
  ];
  const EXCLUDING = [
    'text/html',
    'text/*',
    'application/xml',
    'application/json;q=0',
    '*/*;q=0',
    'application/jsonp',
    'json',
    'application/json;q=0, */*',
    'application/*;q=0.0, */*;q=1',
    'application/problem+json',
    'a, b;q=1, c/d',
  ];

  test('NOT_ACCEPTABLE: 406 when Accept is present and excludes application/json', async () => {
    for (const accept of EXCLUDING) {
      assertError(await service.get(STATUS_PATH, { headers: { accept } }), 'NOT_ACCEPTABLE');
    }
  });

  test('a missing Accept, */* and every range that includes application/json are accepted', async () => {
    for (const accept of ACCEPTABLE) {
      assertError(await service.get(STATUS_PATH, { headers: { accept } }), 'TRANSACTION_NOT_FOUND');
    }
    const headers = { authorization: `Bearer ${service.alpha.token}` };
    const without = await exchangeOne(service.url, rawRequest('GET', STATUS_PATH, { headers }));
    assertError(without, 'TRANSACTION_NOT_FOUND');
  });

  test('PAYLOAD_TOO_LARGE: 413 for more than 16 KiB, whether the length is declared or not', async () => {
    const filled = (bytes: number): string =>
      JSON.stringify({ ...GOOD, x: '' }).replace('""', `"${'x'.repeat(bytes - 60)}"`);
    const padding = 60 - JSON.stringify({ ...GOOD, x: '' }).length;
    const exactly = filled(16_384 + padding);
    assert.equal(exactly.length, 16_384);
    assertSuccess(await service.checkAccount(exactly));
    assertError(await service.checkAccount(`${exactly} `), 'PAYLOAD_TOO_LARGE');
    assertError(await sendChunked(`${exactly} `), 'PAYLOAD_TOO_LARGE');
    assertSuccess(await sendChunked(exactly));
  });

  const WRONG_TYPES = [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'text/json',
    'application/ld+json',
    'json',
    '',
    ';',
  ];

  test('UNSUPPORTED_MEDIA_TYPE: 415 for a body that is not application/json in UTF-8', async () => {
    for (const type of WRONG_TYPES) {
      const answer = await service.checkAccount(GOOD, { headers: { 'content-type': type } });
      assertError(answer, 'UNSUPPORTED_MEDIA_TYPE');
    }
    const compressed = await service.checkAccount(GOOD, { headers: { 'content-encoding': 'gzip' } });
    assertError(compressed, 'UNSUPPORTED_MEDIA_TYPE');
  });

  // Regression: only the lower-case name was known.
  test('a body that is not compressed may say so, in any case', async () => {
    const answer = await service.checkAccount(GOOD, { headers: { 'content-encoding': 'Identity' } });
    assert.equal(answer.status, 200, answer.text);
  });

  test('UNSUPPORTED_MEDIA_TYPE: 415 when Content-Type is missing', async () => {
    const request = rawRequest('POST', '/api/v1/check-account', {
      headers: { authorization: `Bearer ${service.alpha.token}` },
      body: JSON.stringify(GOOD),
    });
    assertError(await exchangeOne(service.url, request), 'UNSUPPORTED_MEDIA_TYPE');
  });

  test('application/json in any case, with or without a charset, is supported', async () => {
    for (const type of [
      'application/json',
      'Application/JSON',
      'application/json;charset=utf-8',
      'application/json; charset="UTF-8"',
      'application/json;charset=utf8',
    ]) {
      assertSuccess(await service.checkAccount(GOOD, { headers: { 'content-type': type } }));
    }
  });

  test('HEADERS_TOO_LARGE: 431 for more than 16 KiB of headers', async () => {
    const headers = { 'x-filler': 'x'.repeat(17 * 1024) };
    assertError(await exchangeOne(service.url, rawRequest('GET', STATUS_PATH, { headers })), 'HEADERS_TOO_LARGE');
  });
});

async function sendChunked(body: string): Promise<Answer> {
  const connection = await openRawConnection(service.url);
  try {
    const headers = {
      authorization: `Bearer ${service.alpha.token}`,
      'content-type': 'application/json',
      'transfer-encoding': 'chunked',
    };
    connection.send(rawRequest('POST', '/api/v1/check-account', { headers }));
    for (let at = 0; at < body.length; at += 1_000) {
      const chunk = body.slice(at, at + 1_000);
      connection.send(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    }
    connection.send('0\r\n\r\n');
    const answer = await connection.read();
    assert.ok(answer !== null);
    return answer;
  } finally {
    connection.end();
  }
}
