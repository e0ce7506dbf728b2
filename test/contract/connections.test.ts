import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { suite, test } from 'node:test';
import { countedAddress } from '../../apps/server/src/lib/counted-address.ts';
import { createAccessLog } from '../../apps/server/src/observability/access-log.ts';
import { startTestService, type TestService, type TestServiceOptions } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { openRawConnection, type RawConnection, rawRequest } from './raw-connection.ts';

/** Regression: connections, and the requests on them, were admitted until the memory was used up. */

async function withService(
  settings: TestServiceOptions['settings'],
  body: (service: TestService) => Promise<void>,
): Promise<void> {
  const service = await startTestService({ rails: [], settings: { ...settings } });
  try {
    await body(service);
  } finally {
    await service.close();
  }
}

/** The number of connections, of `count`, that are not refused. Checks that the others are told why. */
async function countAdmitted(url: string, count: number): Promise<number> {
  const connections: RawConnection[] = [];
  let admitted = 0;
  try {
    for (let index = 0; index < count; index += 1) {
      const connection = await openRawConnection(url);
      connections.push(connection);
      connection.send(rawRequest('GET', '/unknown'));
      const answer = await connection.read();
      assert.ok(answer !== null, 'closed without an answer');
      if (answer.status === 404) admitted += 1;
      else {
        assertError(answer, 'SERVICE_UNAVAILABLE', /too many open connections/);
        assert.ok(Number(answer.headers.get('retry-after')) > 0);
        await connection.closed;
      }
    }
    return admitted;
  } finally {
    for (const connection of connections) connection.end();
  }
}

suite('connections are limited on both listeners; one beyond the limit is told why and closed', () => {
  test('per address', () =>
    withService({ connectionsPerAddress: 5 }, async ({ url, operatorUrl }) => {
      for (const each of [url, operatorUrl]) assert.equal(await countAdmitted(each, 8), 5);
    }));

  test('in all', () =>
    withService({ connectionsMax: 5, trustedProxies: ['loopback'] }, async ({ url, operatorUrl }) => {
      for (const each of [url, operatorUrl]) assert.equal(await countAdmitted(each, 8), 5);
    }));

  test('a trusted proxy carries many clients: only the limit in all applies to it', () =>
    withService({ connectionsPerAddress: 5, trustedProxies: ['127.0.0.0/8'] }, async ({ url }) => {
      assert.equal(await countAdmitted(url, 8), 8);
    }));

  test('an IPv6 network of one client counts as one address', () => {
    assert.equal(countedAddress('2001:db8:1:2:3:4:5:6'), countedAddress('2001:db8:1:2::9'));
    assert.notEqual(countedAddress('2001:db8:1:2::9'), countedAddress('2001:db8:1:3::9'));
    assert.equal(countedAddress('::1'), '0:0:0:0');
    assert.equal(countedAddress('::ffff:192.0.2.1'), '192.0.2.1');
    assert.equal(countedAddress('192.0.2.1'), '192.0.2.1');
  });
});

test('while the event loop is late, requests get 503 with Retry-After, and health checks are answered', () =>
  withService({ eventLoopDelayMs: 50 }, async ({ url, operatorUrl, alpha }) => {
    const client = await openRawConnection(url);
    const probe = await openRawConnection(operatorUrl);
    try {
      client.send(
        rawRequest('GET', '/api/v1/check-status/NONE', { headers: { authorization: `Bearer ${alpha.token}` } }),
      );
      probe.send(rawRequest('GET', '/livez'));
      // The service is in this process: it samples its delay before it reads these requests.
      const endMs = performance.now() + 500;
      while (performance.now() < endMs);
      const answer = await client.read();
      assert.ok(answer !== null, 'closed without an answer');
      assertError(answer, 'SERVICE_UNAVAILABLE', /too many requests for this process/);
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.equal((await probe.read())?.status, 200);
    } finally {
      client.end();
      probe.end();
    }
  }));

test('requests that no rate limit bounds are sampled in the access log, and those left out are counted', () => {
  let nowMs = 0;
  const lines: Record<string, unknown>[] = [];
  const log = createAccessLog(
    (line) => void lines.push(JSON.parse(line)),
    () => nowMs,
  );
  const entry = { listener: 'public', requestId: 'x', method: 'GET', route: '/', durationMs: 1, fields: null };
  const logAll = (count: number) => {
    for (let index = 0; index < count; index += 1) {
      log({ ...entry, status: 401, clientId: undefined, errorCode: 'UNAUTHORIZED' });
      log({ ...entry, status: 429, clientId: 'alpha', errorCode: 'RATE_LIMIT_EXCEEDED' });
      log({ ...entry, status: 200, clientId: 'alpha', errorCode: null });
      // Regression: the operator's lists and its rejected feeds were logged without a bound.
      const operator = { ...entry, listener: 'operator', clientId: 'core' };
      log({ ...operator, status: 201, errorCode: null });
      log({ ...operator, method: 'POST', status: 400, errorCode: 'INVALID_FORMAT' });
      log({ ...operator, method: 'POST', status: 202, errorCode: null });
    }
  };
  logAll(1_000);
  nowMs = 1_000;
  logAll(1);
  const counted = (status: number) => {
    const ofStatus = lines.filter((line) => line['status'] === status);
    return [ofStatus.length, ofStatus.reduce((sum, line) => sum + Number(line['suppressed'] ?? 0), 0)];
  };
  assert.deepEqual(counted(200), [1_001, 0]);
  assert.deepEqual(counted(401), [21, 980]);
  assert.deepEqual(counted(429), [21, 980]);
  assert.deepEqual(
    [counted(201), counted(400), counted(202)],
    [
      [21, 980],
      [21, 980],
      [1_001, 0],
    ],
  );
});

/** Regression: the connection was closed with unread bytes, which resets it: Python's http.client lost every answer. */
test('PAYLOAD_TOO_LARGE reaches a client that sends its whole body before it reads', () =>
  withService({}, async ({ url, alpha }) => {
    const bodyBytes = 17 * 1024 * 1024;
    for (const [target, length] of [
      ['/api/v1/check-account', { 'content-length': String(bodyBytes) }],
      ['/api/v1/account-validations', { 'content-length': String(bodyBytes) }],
      ['/api/v1/check-account', { 'transfer-encoding': 'chunked' }],
    ] as const) {
      const head = rawRequest('POST', target, {
        headers: { authorization: `Bearer ${alpha.token}`, 'content-type': 'application/json', ...length },
      });
      const isChunked = 'transfer-encoding' in length;
      const body = Buffer.alloc(bodyBytes, 'x');
      const chunked = [Buffer.from(`${bodyBytes.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')];
      const answer = await writeThenRead(url, Buffer.concat([head, ...(isChunked ? chunked : [body])]));
      assert.match(answer, /^HTTP\/1\.1 413 /);
      assert.match(answer, /"error_code":"PAYLOAD_TOO_LARGE"/);
    }
  }));

/** Sends everything, and reads only then. @throws Error when the connection is reset */
async function writeThenRead(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    await once(socket, 'connect');
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString();
  } finally {
    socket.destroy();
  }
}
