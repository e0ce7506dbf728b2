import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';
import { assertError, assertSuccess } from './assertions.ts';
import { exchange, exchangeOne, openRawConnection, rawRequest } from './raw-connection.ts';

/**
 * docs/contract.md 7.1 and 7.2 at the level of bytes (RFC 9110, RFC 9112): malformed, ambiguous and pipelined requests.
 * Slow peers: slow-peers.test.ts
 */

let service: TestService;
before(async () => {
  service = await startTestService();
  await service.feed([statusUpdate()]);
});
after(() => service?.close());

/** 1 s; the rest is for a busy machine. */
const DISCONNECTED_WITHIN_MS = 10_000;
const STATUS = '/api/v1/check-status/TB0000000001';
const authorized = (): Record<string, string> => ({ authorization: `Bearer ${service.alpha.token}` });
const get = (target: string): Buffer => rawRequest('GET', target, { headers: authorized() });
const post = (headers: Record<string, string>, body: string): Buffer =>
  rawRequest('POST', '/api/v1/check-account', {
    headers: { ...authorized(), 'content-type': 'application/json', ...headers },
    body,
  });

/** After a request whose end cannot be determined, the connection must not be used any more. */
async function assertMalformed(bytes: string | Buffer): Promise<void> {
  const connection = await openRawConnection(service.url);
  try {
    connection.send(bytes);
    const answer = await connection.read();
    assert.ok(answer !== null, 'closed without an answer');
    assertError(answer, 'INVALID_FORMAT');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await connection.read(), null);
    await connection.closed;
  } finally {
    connection.end();
  }
}

suite('malformed requests get one answer in the envelope, then the connection is closed', () => {
  test('garbage', async () => {
    for (const bytes of [
      'GARBAGE\r\n\r\n',
      '\u0000\u0001\u0002\r\n\r\n',
      'GET\r\n\r\n',
      'HELLO WORLD\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    ]) {
      await assertMalformed(bytes);
    }
  });

  test('an unknown method', async () => {
    await assertMalformed(rawRequest('FROBNICATE', STATUS, { headers: authorized() }));
    await assertMalformed(rawRequest('get', STATUS, { headers: authorized() }));
  });

  test('Content-Length together with Transfer-Encoding', async () => {
    await assertMalformed(post({ 'transfer-encoding': 'chunked' }, '0\r\n\r\n'));
  });

  test('two lengths, a wrong one, a negative one', async () => {
    const head = `POST /api/v1/check-account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.alpha.token}\r\n`;
    for (const lengths of [
      'Content-Length: 2\r\nContent-Length: 3',
      'Content-Length: -1',
      'Content-Length: 2, 3',
      'Content-Length: 0x2',
    ]) {
      await assertMalformed(`${head}Content-Type: application/json\r\n${lengths}\r\n\r\n{}x`);
    }
  });

  test('lines that end with a line feed alone', async () => {
    await assertMalformed(`GET ${STATUS} HTTP/1.1\nHost: x\n\n`);
    await assertMalformed(`GET ${STATUS} HTTP/1.1\r\nHost: x\nAuthorization: Bearer ${service.alpha.token}\r\n\r\n`);
  });

  test('broken headers: folded, without a colon, with a space before it, with control characters', async () => {
    for (const line of ['A: b\r\n folded', 'no colon', 'A : b', ': b', 'A: b\u0000c', 'A\u00e9: b']) {
      await assertMalformed(Buffer.from(`GET ${STATUS} HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`, 'latin1'));
    }
  });

  test('a broken chunk', async () => {
    const head = rawRequest('POST', '/api/v1/check-account', {
      headers: { ...authorized(), 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    });
    for (const chunk of ['ZZ\r\n{}\r\n', '-1\r\n{}\r\n', '2\r\n{}}\r\n']) {
      await assertMalformed(Buffer.concat([head, Buffer.from(chunk)]));
    }
  });
});

/** Regression: of a repeated header the first value counted, without an error. */
suite('a head with a repeated header is INVALID_FORMAT, whichever of the two values is valid', () => {
  const lines = (): Record<string, string> => ({
    Host: 'tiba.test',
    Authorization: `Bearer ${service.alpha.token}`,
    'Content-Type': 'application/json',
  });
  for (const name of ['Host', 'Authorization', 'Content-Type']) {
    test(name, async () => {
      const right = Object.entries(lines());
      const value = lines()[name] ?? '';
      for (const [first, second] of [
        [value, value],
        [value, 'other'],
        ['other', value],
      ] as const) {
        const others = right.filter(([each]) => each !== name);
        const head = [...others, [name, first], [name.toLowerCase(), second]].map((line) => `${line.join(': ')}\r\n`);
        const answer = await exchangeOne(service.url, `GET ${STATUS} HTTP/1.1\r\n${head.join('')}\r\n`);
        assertError(answer, 'INVALID_FORMAT', new RegExp(`${name} is given more than once`));
      }
    });
  }

  test('other headers may be repeated, and different headers may have names of equal length', async () => {
    const head = [...Object.entries(lines()), ['Date', 'x'], ['X-Request-Id', 'x'], ['Cache-Control', 'no-cache']]
      .map((line) => `${line.join(': ')}\r\n`)
      .join('');
    const twice = 'X-Forwarded-For: 192.0.2.1\r\nx-forwarded-for: 192.0.2.2\r\nVia: a\r\nVia: b\r\n';
    assertSuccess(await exchangeOne(service.url, `GET ${STATUS} HTTP/1.1\r\n${head}${twice}\r\n`));
  });
});

suite('sizes', () => {
  test('17 KB in one header, in many, or in the URL: HEADERS_TOO_LARGE', async () => {
    const many = Object.fromEntries(Array.from({ length: 340 }, (_, index) => [`x-${index}`, 'x'.repeat(50)]));
    for (const request of [
      rawRequest('GET', STATUS, { headers: { 'x-one': 'x'.repeat(17_000) } }),
      rawRequest('GET', STATUS, { headers: many }),
      get(`/api/v1/check-status/${'x'.repeat(17_000)}`),
    ]) {
      assertError(await exchangeOne(service.url, request), 'HEADERS_TOO_LARGE');
    }
  });

  test('15 KB of headers are accepted', async () => {
    const headers = { ...authorized(), 'x-one': 'x'.repeat(15_000) };
    assertSuccess(await exchangeOne(service.url, rawRequest('GET', STATUS, { headers })));
  });
});

suite('methods', () => {
  test('OPTIONS: METHOD_NOT_ALLOWED with Allow on a route, NOT_FOUND on *', async () => {
    const answer = await exchangeOne(service.url, rawRequest('OPTIONS', STATUS));
    assertError(answer, 'METHOD_NOT_ALLOWED');
    assert.equal(answer.headers.get('allow'), 'GET, HEAD');
    assertError(await exchangeOne(service.url, rawRequest('OPTIONS', '*')), 'NOT_FOUND');
  });

  test('every method that HTTP knows: METHOD_NOT_ALLOWED, with a body or without', async () => {
    for (const method of [
      'PUT',
      'PATCH',
      'DELETE',
      'TRACE',
      'PROPFIND',
      'LOCK',
      'SEARCH',
      'PURGE',
      'M-SEARCH',
      'QUERY',
    ]) {
      for (const body of ['', '{"a":1}']) {
        const answer = await exchangeOne(service.url, rawRequest(method, '/api/v1/check-account', { body }));
        assertError(answer, 'METHOD_NOT_ALLOWED');
        assert.equal(answer.headers.get('allow'), 'POST');
      }
    }
  });

  test('a method that no operation has: METHOD_NOT_ALLOWED on a path with parameters, NOT_FOUND elsewhere', async () => {
    const counted = async (): Promise<number> => {
      const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
      const line = /^tiba_http_requests_total\{route="\/api\/v1\/check-status\/:transaction_id",status="405"\} (\d+)$/m;
      return Number(line.exec(metrics)?.[1] ?? 0);
    };
    const before = await counted();
    const answer = await exchangeOne(service.url, rawRequest('PROPFIND', '/api/v1/check-status/INV%2F1?a=b'));
    assertError(answer, 'METHOD_NOT_ALLOWED');
    assert.equal(answer.headers.get('allow'), 'GET, HEAD');
    assert.equal(await counted(), before + 1);
    for (const url of [service.url, service.operatorUrl]) {
      assertError(await exchangeOne(url, rawRequest('PROPFIND', '/nowhere')), 'NOT_FOUND');
    }
    const onOperator = await exchangeOne(service.operatorUrl, rawRequest('LOCK', '/livez'));
    assertError(onOperator, 'METHOD_NOT_ALLOWED');
    assert.equal(onOperator.headers.get('allow'), 'GET, HEAD');
  });

  test('a path of its own is no parameter of another path: METHOD_NOT_ALLOWED', async () => {
    const answer = await exchangeOne(service.url, rawRequest('GET', '/api/v1/callback-deliveries/replay'));
    assertError(answer, 'METHOD_NOT_ALLOWED');
    assert.equal(answer.headers.get('allow'), 'POST');
  });

  test('CONNECT opens no tunnel: METHOD_NOT_ALLOWED, after earlier answers, and the connection is closed', async () => {
    // Regression: the connection was closed without an answer.
    for (const url of [service.url, service.operatorUrl]) {
      const connection = await openRawConnection(url);
      connection.send(rawRequest('GET', '/nowhere'));
      connection.send(Buffer.concat([rawRequest('CONNECT', 'example.com:443'), Buffer.from('for the tunnel')]));
      const answers = [await connection.read(), await connection.read()];
      assertError(answers[0] as Answer, 'NOT_FOUND');
      assertError(answers[1] as Answer, 'METHOD_NOT_ALLOWED', /tunnel/);
      assert.equal(await connection.read(), null);
      await connection.closed;
    }
  });

  test('a client that goes on sending after CONNECT is disconnected', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    const startedMs = performance.now();
    socket.on('error', () => {});
    socket.resume().write(rawRequest('CONNECT', 'example.com:443'));
    const timer = setInterval(() => socket.write('more for the tunnel'), 50);
    const deadline = setTimeout(() => socket.destroy(), DISCONNECTED_WITHIN_MS);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(timer);
    clearTimeout(deadline);
    assert.ok(performance.now() - startedMs < DISCONNECTED_WITHIN_MS);
  });

  test('an upgrade is ignored: the request is answered as a normal request', async () => {
    for (const protocol of ['websocket', 'h2c']) {
      const headers = { ...authorized(), connection: 'Upgrade', upgrade: protocol };
      assertSuccess(await exchangeOne(service.url, rawRequest('GET', STATUS, { headers })));
    }
  });

  test('a body that GET does not need is ignored', async () => {
    const bytes = rawRequest('GET', STATUS, { headers: { ...authorized(), 'content-type': 'text/plain' }, body: 'x' });
    const answers = await exchange(service.url, Buffer.concat([bytes, get(STATUS)]), 2);
    assert.equal(answers.length, 2);
    for (const answer of answers) assertSuccess(answer);
  });
});

suite('one answer for each request, in order', () => {
  test('pipelined requests of every kind', async () => {
    const requests: readonly (readonly [Buffer, (answer: Answer) => void])[] = [
      [get(STATUS), (answer) => assertSuccess(answer)],
      [get('/unknown'), (answer) => assertError(answer, 'NOT_FOUND')],
      [rawRequest('GET', STATUS), (answer) => assertError(answer, 'UNAUTHORIZED')],
      [post({}, '{"bank_code":"014","account_number":"1234567890"}'), (answer) => assertSuccess(answer)],
      [get('/api/v1/check-status/NONE'), (answer) => assertError(answer, 'TRANSACTION_NOT_FOUND')],
      [post({}, '{"bank_code":"NOPE"}'), (answer) => assertError(answer, 'INVALID_BANK_CODE')],
      [rawRequest('PUT', STATUS, { body: 'x' }), (answer) => assertError(answer, 'METHOD_NOT_ALLOWED')],
      [get(STATUS), (answer) => assertSuccess(answer)],
    ];
    const answers = await exchange(service.url, Buffer.concat(requests.map(([bytes]) => bytes)), requests.length);
    assert.equal(answers.length, requests.length);
    for (const [index, [, check]] of requests.entries()) check(answers[index] as Answer);
    assert.equal(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, answers.length);
  });

  test('100 pipelined look-ups', async () => {
    const answers = await exchange(service.url, Buffer.concat(Array.from({ length: 100 }, () => get(STATUS))), 100);
    assert.equal(answers.length, 100);
    for (const answer of answers) assertSuccess(answer);
  });

  test('the error for garbage after a request comes after the answer to that request', async () => {
    const answers = await exchange(service.url, Buffer.concat([get(STATUS), Buffer.from('GARBAGE\r\n\r\n')]), 3);
    assert.equal(answers.length, 2);
    assertSuccess(answers[0] as Answer);
    assertError(answers[1] as Answer, 'INVALID_FORMAT');
  });

  test('a request rejected before its body arrived gets no second answer for the body', async () => {
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
    const head = rawRequest('POST', '/api/v1/check-account', { headers });
    const answers = await exchange(service.url, Buffer.concat([head, Buffer.from('ZZ\r\n\r\n')]), 2);
    assert.equal(answers.length, 1);
    assertError(answers[0] as Answer, 'UNAUTHORIZED');
  });

  test('the connection is usable after an error', async () => {
    const rejected = rawRequest('POST', '/api/v1/check-account', { body: '{"bank_code":"014"}' });
    const answers = await exchange(service.url, Buffer.concat([rejected, get(STATUS)]), 2);
    assertError(answers[0] as Answer, 'UNAUTHORIZED');
    assertSuccess(answers[1] as Answer);
  });
});

test('HTTP/1.0 is answered, also without Host, and the connection is closed', async () => {
  const head = `GET ${STATUS} HTTP/1.0\r\nAuthorization: Bearer ${service.alpha.token}\r\n\r\n`;
  const answers = await exchange(service.url, head, 2);
  assert.equal(answers.length, 1);
  assertSuccess(answers[0] as Answer);
});

test('Expect: 100-continue is answered before the body is sent', async () => {
  const body = '{"bank_code":"014","account_number":"1234567890"}';
  assertSuccess(await exchangeOne(service.url, post({ expect: '100-continue' }, body)));
});

/** Regression: the service waited without a timeout for a body of which only the content type was sent. */
test('a content type without a body is answered at once, and the connection stays usable', async () => {
  const connection = await openRawConnection(service.url);
  try {
    for (const [target, code] of [
      ['/api/v1/check-account', 'INVALID_FORMAT'],
      ['/api/v1/callback-endpoints', 'INVALID_FORMAT'],
      ['/api/v1/account-validations', 'INVALID_FORMAT'],
      ['/oauth/token', null],
    ] as const) {
      const type = target.startsWith('/oauth') ? 'application/x-www-form-urlencoded' : 'application/json';
      connection.send(rawRequest('POST', target, { headers: { ...authorized(), 'content-type': type } }));
      const answer = await connection.read();
      assert.ok(answer !== null, `${target}: closed without an answer`);
      if (code === null) assert.equal(answer.status, 401);
      else assertError(answer, code);
    }
    connection.send(rawRequest('GET', STATUS, { headers: { ...authorized(), 'content-type': 'application/json' } }));
    assert.equal((await connection.read())?.status, 200);
  } finally {
    connection.end();
  }
});

/**
 * Regression: the error for a reference ID with slashes, such as the sandbox's own, said only that the route is
 * unknown.
 */
test('a reference ID with slashes in the path: the message says how to encode it', async () => {
  const { status, json } = await service.get('/api/v1/check-status/INV/2026/001');
  assert.deepEqual([status, json.error_code], [404, 'NOT_FOUND']);
  assert.match(json.message, /%2F, or give \?reference_id=/);
});

test('by default no origin is allowed, and no answer says anything about origins', async () => {
  const headers = { origin: 'https://app.example.com' };
  const answer = await service.get(STATUS, { headers });
  const refusal = await service.get(STATUS, {
    method: 'OPTIONS',
    headers: { ...headers, 'access-control-request-method': 'GET' },
  });
  assertSuccess(answer);
  assertError(refusal, 'METHOD_NOT_ALLOWED');
  for (const each of [answer, refusal]) {
    assert.equal(each.headers.get('vary'), 'Accept-Language');
    assert.ok([...each.headers.keys()].every((name) => !name.startsWith('access-control-')));
  }
});
