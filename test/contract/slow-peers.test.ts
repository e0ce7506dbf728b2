import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { REQUEST_TIMEOUT_MS } from '../../apps/server/src/http/server.ts';
import { eventually } from '../support/eventually.ts';
import { documentOf, operationsOf } from '../support/openapi.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';

/** docs/contract.md 7.1, REQUEST_TIMEOUT: a peer that sends too slowly gets the error, or its connection is closed. */

/** Of the service under test. */
const REQUEST_MS = 2_000;
const UNREAD_ANSWER_MS = 2_000;
const FEED_LINE_MS = 3_000;

let service: TestService;
before(async () => {
  service = await startTestService({
    slowPeers: { requestMs: REQUEST_MS, unreadAnswerMs: UNREAD_ANSWER_MS, feedLineMs: FEED_LINE_MS },
  });
});
after(() => service?.close());

/** 1 s until the check runs; the rest is for a busy machine. */
const DISCONNECTED_AFTER_MS = REQUEST_MS + 1_000 + 1_500;
const DRIP_INTERVAL_MS = 250;

/** Sends `head`, then a byte at intervals until the service closes the connection. */
async function drip(
  head: string | Buffer,
  byte: string,
  url = service.url,
): Promise<{ answers: Answer[]; elapsedMs: number }> {
  const connection = await openRawConnection(url);
  const startedMs = performance.now();
  connection.send(head);
  const timer = setInterval(() => {
    if (byte !== '') connection.send(byte);
  }, DRIP_INTERVAL_MS);
  try {
    const answers: Answer[] = [];
    for (let answer; (answer = await connection.read()) !== null; ) answers.push(answer);
    await connection.closed;
    return { answers, elapsedMs: performance.now() - startedMs };
  } finally {
    clearInterval(timer);
    connection.end();
  }
}

async function assertDisconnected(head: string | Buffer, byte: string, url = service.url): Promise<void> {
  const { answers, elapsedMs } = await drip(head, byte, url);
  assert.ok(elapsedMs < DISCONNECTED_AFTER_MS, `disconnected after ${elapsedMs} ms`);
  assert.ok(answers.length <= 1);
  for (const answer of answers) assertError(answer, 'REQUEST_TIMEOUT');
}

const slowBody = (headers: Record<string, string>): Buffer =>
  rawRequest('POST', '/api/v1/check-account', { headers: { 'content-type': 'application/json', ...headers } });

test('without that setting, a request has 10 s', () => assert.equal(REQUEST_TIMEOUT_MS, 10_000));

suite('a peer that sends too slowly is disconnected within 12 s (here 4 s)', { concurrency: true }, () => {
  const authorized = (): Record<string, string> => ({ authorization: `Bearer ${service.alpha.token}` });

  test('headers that never come', () => assertDisconnected('', ''));
  test('headers that stop', () => assertDisconnected('GET /api/v1/check-status/X HTTP/1.1\r\nHost: x\r\nX-Sl', ''));
  test('headers that drip', () =>
    assertDisconnected('GET /api/v1/check-status/X HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'x'));
  test('header lines that drip', () =>
    assertDisconnected('GET /api/v1/check-status/X HTTP/1.1\r\nHost: x\r\n', 'A: b\r\n'));
  test('a body that stops', () => assertDisconnected(slowBody({ ...authorized(), 'content-length': '100' }), ''));
  test('a body that stops, of a client that prefers Indonesian', async () => {
    const { answers } = await drip(slowBody({ ...authorized(), 'content-length': '9', 'accept-language': 'id' }), '');
    const [answer] = answers;
    assert.equal(answer?.json.error_code, 'REQUEST_TIMEOUT');
    assert.equal(answer?.headers.get('content-language'), 'id');
    assert.match(answer?.json.message, /^Permintaan tidak diterima tepat waktu/);
  });
  test('a body that drips', () => assertDisconnected(slowBody({ ...authorized(), 'content-length': '10000' }), 'x'));
  test('chunks that drip', () =>
    assertDisconnected(slowBody({ ...authorized(), 'transfer-encoding': 'chunked' }), '1\r\nx\r\n'));

  test('a body that drips after its request was rejected: disconnected, without a second answer', async () => {
    const { answers, elapsedMs } = await drip(slowBody({ 'content-length': '10000' }), 'x');
    assert.ok(elapsedMs < DISCONNECTED_AFTER_MS, `disconnected after ${elapsedMs} ms`);
    assert.equal(answers.length, 1);
    assertError(answers[0] as Answer, 'UNAUTHORIZED');
  });

  /** Regression: the operator listener had no timeout, with or without a token. */
  const operatorBody = (headers: Record<string, string>): Buffer =>
    rawRequest('POST', '/feed/v1/transactions', {
      headers: { 'content-type': 'application/json', 'content-length': '10000', ...headers },
    });
  test('operator listener: a JSON body that drips', () =>
    assertDisconnected(operatorBody({ authorization: `Bearer ${service.core.token}` }), 'x', service.operatorUrl));
  test('operator listener: a body that drips without a token', async () => {
    const { answers, elapsedMs } = await drip(operatorBody({}), 'x', service.operatorUrl);
    assert.ok(elapsedMs < DISCONNECTED_AFTER_MS, `disconnected after ${elapsedMs} ms`);
    assert.equal(answers.length, 1);
    assertError(answers[0] as Answer, 'UNAUTHORIZED');
  });

  // Its documents describe REQUEST_TIMEOUT for each of them.
  test('headers that stop, of a request to each operation of both listeners', async () => {
    const requests = (['public', 'operator'] as const).flatMap((listener) =>
      operationsOf(documentOf(listener)).map(({ method, path }) => {
        const head = `${method.toUpperCase()} ${path} HTTP/1.1\r\nHost: x\r\nX-Sl`;
        return { path, head, url: listener === 'public' ? service.url : service.operatorUrl };
      }),
    );
    assert.ok(requests.length > 30);
    await Promise.all(
      requests.map(async ({ path, head, url }) => {
        const { answers } = await drip(head, '', url);
        assert.equal(answers.length, 1, path);
        assertError(answers[0] as Answer, 'REQUEST_TIMEOUT');
      }),
    );
  });

  test('other requests are answered meanwhile', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      assertError(await service.get('/api/v1/check-status/NONE'), 'TRANSACTION_NOT_FOUND');
    }
  });

  test('REQUEST_TIMEOUT: 408 in the envelope for a body that did not arrive in time', async () => {
    const head = slowBody({ ...authorized(), 'content-length': '100' });
    const { answers } = await drip(head, '');
    assert.equal(answers.length, 1);
    assertError(answers[0] as Answer, 'REQUEST_TIMEOUT');
  });
});

const feedHead = (): Buffer =>
  rawRequest('POST', '/feed/v1/transactions', {
    headers: {
      authorization: `Bearer ${service.core.token}`,
      'content-type': 'application/x-ndjson',
      'transfer-encoding': 'chunked',
    },
  });

suite('a feed keeps a pace: a whole line within 30 s (here 3 s)', { concurrency: true }, () => {
  test('a feed that drips within a line gets REQUEST_TIMEOUT, and is disconnected', async () => {
    const { answers, elapsedMs } = await drip(feedHead(), '1\r\nx\r\n', service.operatorUrl);
    assert.ok(elapsedMs < DISCONNECTED_AFTER_MS, `disconnected after ${elapsedMs} ms`);
    assert.equal(answers.length, 1);
    assertError(answers[0] as Answer, 'REQUEST_TIMEOUT', /stored so far/);
  });

  test('a feed that sends short lines goes on for longer than a request may take', async () => {
    const connection = await openRawConnection(service.operatorUrl);
    const startedMs = performance.now();
    connection.send(feedHead());
    const timer = setInterval(() => connection.send('2\r\n{\n\r\n'), DRIP_INTERVAL_MS);
    try {
      await eventually(
        'a request without a pace would have been disconnected',
        () => performance.now() - startedMs > DISCONNECTED_AFTER_MS,
      );
      clearInterval(timer);
      connection.send('0\r\n\r\n');
      assert.equal((await connection.read())?.status, 200);
    } finally {
      clearInterval(timer);
      connection.end();
    }
  });
});

test('operator listener: a client that does not read its answers is disconnected', async () => {
  const { hostname, port } = new URL(service.operatorUrl);
  const socket = connect(Number(port), hostname);
  try {
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.pause();
    // The answers are more than the kernel takes for a client that does not read. Such a client sees only when it
    // writes that its connection is closed.
    const request = rawRequest('GET', '/metrics');
    socket.write(Buffer.concat(Array.from({ length: 1_000 }, () => request)));
    await eventually('the connection is closed', () => {
      if (!socket.closed) socket.write(request);
      return socket.closed;
    });
  } finally {
    socket.destroy();
  }
});
