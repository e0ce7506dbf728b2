import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { startTestService, type TestService } from '../support/service.ts';
import { assertError, assertSuccess, type ErrorCode } from './assertions.ts';
import { openRawConnection, type RawConnection, rawRequest } from './raw-connection.ts';

/** RFC 9110, section 10.1.1: a client that waits for `100 Continue` sends a body only where the body is wanted. */

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service?.close());

const BODY = '{"bank_code":"014","account_number":"1234567890"}';
const authorized = (): Record<string, string> => ({ authorization: `Bearer ${service.alpha.token}` });

function sendHead(connection: RawConnection, target: string, headers: Record<string, string>): void {
  const expecting = { 'content-type': 'application/json', expect: '100-continue', ...headers };
  connection.send(rawRequest('POST', target, { headers: { 'content-length': String(BODY.length), ...expecting } }));
}

test('an accepted head gets 100, its body the answer, and the connection stays open', async () => {
  const connection = await openRawConnection(service.url);
  try {
    for (const expect of ['100-continue', '100-Continue']) {
      sendHead(connection, '/api/v1/check-account', { ...authorized(), expect });
      assert.equal((await connection.readAny())?.status, 100);
      connection.send(BODY);
      const answer = await connection.readAny();
      assert.ok(answer !== null);
      assertSuccess(answer);
    }
  } finally {
    connection.end();
  }
});

test('the feed and the login get 100 too', async () => {
  for (const [url, target, headers] of [
    [service.operatorUrl, '/feed/v1/transactions', { authorization: `Bearer ${service.core.token}` }],
    [service.url, '/oauth/token', { 'content-type': 'application/x-www-form-urlencoded' }],
  ] as const) {
    const connection = await openRawConnection(url);
    sendHead(connection, target, headers);
    assert.equal((await connection.readAny())?.status, 100, target);
    connection.end();
  }
});

/** Regression: it was held to the limit of JSON. Most clients wait a second for 100, and some until they time out. */
test('a feed of NDJSON gets 100, however long it is; one of JSON does not', async () => {
  const authorization = `Bearer ${service.core.token}`;
  const head = { authorization, 'content-length': String(2 * 1024 * 1024) };
  for (const [type, status] of [
    ['application/x-ndjson', 100],
    ['Application/X-NDJSON; charset=utf-8', 100],
    ['application/json', 413],
  ] as const) {
    const connection = await openRawConnection(service.operatorUrl);
    sendHead(connection, '/feed/v1/transactions', { ...head, 'content-type': type });
    assert.equal((await connection.readAny())?.status, status, type);
    connection.end();
  }
});

suite('a rejected head is answered at once, without 100, and the connection is closed', () => {
  // Regression: 100 was sent before the caller was known, so anyone could have any body read.
  const cases: readonly [string, ErrorCode, string, () => Record<string, string>][] = [
    ['no token', 'UNAUTHORIZED', '/api/v1/check-account', () => ({})],
    [
      'a token without the scope',
      'FORBIDDEN',
      '/api/v1/check-account',
      () => ({ authorization: `Bearer ${service.core.token}` }),
    ],
    [
      'another content type',
      'UNSUPPORTED_MEDIA_TYPE',
      '/api/v1/check-account',
      () => ({ ...authorized(), 'content-type': 'text/plain' }),
    ],
    [
      'a body that is too large',
      'PAYLOAD_TOO_LARGE',
      '/api/v1/check-account',
      () => ({ ...authorized(), 'content-length': '20000' }),
    ],
    ['an upload without a token', 'UNAUTHORIZED', '/api/v1/account-validations', () => ({})],
    ['no such route', 'NOT_FOUND', '/nowhere', authorized],
    ['a method that the route does not have', 'METHOD_NOT_ALLOWED', '/api/v1/banks', authorized],
  ];
  for (const [name, code, target, headers] of cases) {
    test(name, async () => {
      const connection = await openRawConnection(service.url);
      sendHead(connection, target, headers());
      const answer = await connection.readAny();
      assert.ok(answer !== null);
      assertError(answer, code);
      assert.equal(answer.headers.get('connection'), 'close');
      await connection.closed;
    });
  }
});
