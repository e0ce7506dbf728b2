import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, type TestContext, test } from 'node:test';
import type { GuardedHttp, GuardedHttpOptions } from '../../apps/server/src/outbound/guarded-http.ts';
import type { ResolveName } from '../../apps/server/src/outbound/name-resolution.ts';
import { OutboundFailure } from '../../apps/server/src/outbound/outbound-failure.ts';
import { neverRespond, startHttpReceiver } from '../support/http-receiver.ts';
import { createCertificate } from './certificates.ts';
import { fails, OWNER, open } from './guarded-posts.ts';
import { startTcpReceiver } from './tcp-receiver.ts';

/** One client gets only a part of an origin's connections. */
const ownerOf = (client: number) => ({ ...OWNER, clientId: `client-${client}` });
const LIMIT = { timeoutMs: 20_000, owner: OWNER };
const toLoopback: ResolveName = async () => [{ address: '127.0.0.1', family: 4 }];

const certificate = createCertificate('DNS:callbacks.example.com', 'IP:127.0.0.1');

/** The policy of an operator whose receivers are on this machine, over TLS. */
const openInternal = (context: TestContext, port: number, options: Partial<GuardedHttpOptions> = {}): GuardedHttp =>
  open(context, {
    policy: { ports: [port], allowed: ['127.0.0.1'], loopbackHttp: false },
    resolveName: toLoopback,
    certificateAuthorities: [certificate.cert],
    ...options,
  });

suite('over TLS', () => {
  test('a post arrives unchanged, and the reply comes back', async (context) => {
    const receiver = await startHttpReceiver({
      context,
      certificate,
      respond: (response) => {
        response.writeHead(429, { 'retry-after': '120' });
        response.end('tunggu sebentar');
      },
    });
    const http = openInternal(context, receiver.port);
    for (const host of ['callbacks.example.com', '127.0.0.1']) {
      const reply = await http.post(
        `https://${host}:${receiver.port}/tiba/a%20b?for=1&to=%2F`,
        { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
        Buffer.from('{"nama":"é"}'),
        LIMIT,
      );
      const { durationMs, ...rest } = reply;
      assert.deepEqual(rest, { status: 429, retryAfter: '120', answer: 'tunggu sebentar' });
      assert.ok(Number.isInteger(durationMs) && durationMs >= 0 && durationMs < LIMIT.timeoutMs);
      const request = receiver.requests.at(-1);
      assert.equal(request?.method, 'POST');
      assert.equal(request.path, '/tiba/a%20b?for=1&to=%2F');
      assert.equal(request.body, '{"nama":"é"}');
      assert.equal(request.headers.host, `${host}:${receiver.port}`);
      assert.equal(request.headers['webhook-id'], 'evt_1');
      assert.equal(request.headers['content-length'], '13');
    }
  });

  test('an untrusted certificate is a failure, and no byte of the request is sent', async (context) => {
    const receiver = await startHttpReceiver({ context, certificate });
    const url = (host: string) => `https://${host}:${receiver.port}/`;
    const untrusting = openInternal(context, receiver.port, { certificateAuthorities: [] });
    await fails(untrusting.post(url('callbacks.example.com'), {}, '{}', LIMIT), 'tls', /certificate is self-signed$/);
    const http = openInternal(context, receiver.port);
    await fails(http.post(url('other.example.com'), {}, '{}', LIMIT), 'tls', /certificate is for another host$/);
    assert.equal(receiver.requests.length, 0);
  });

  test('certificates are verified even with NODE_TLS_REJECT_UNAUTHORIZED=0', async (context) => {
    const receiver = await startHttpReceiver({ context, certificate });
    const http = openInternal(context, receiver.port, { certificateAuthorities: [] });
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    context.after(() => {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    });
    await fails(http.post(`https://callbacks.example.com:${receiver.port}/`, {}, '{}', LIMIT), 'tls');
    assert.equal(receiver.requests.length, 0);
  });

  test('plain HTTP, a closed connection and silence are failures with distinct reasons', async (context) => {
    const plain = await startHttpReceiver({ context });
    const hangingUp = await startTcpReceiver(context, (socket) => socket.end());
    const silent = await startTcpReceiver(context);
    const url = ({ port }: { port: number }) => `https://callbacks.example.com:${port}/`;
    const to = (port: number) => openInternal(context, port, { connectTimeoutMs: 300 });
    await fails(to(plain.port).post(url(plain), {}, '{}', LIMIT), 'tls', /does not use TLS on this port$/);
    await fails(to(hangingUp.port).post(url(hangingUp), {}, '{}', LIMIT), 'tls', /the handshake failed$/);
    await fails(to(silent.port).post(url(silent), {}, '{}', LIMIT), 'timeout', /^No connection to/);
  });

  test('connections are kept alive', async (context) => {
    const receiver = await startHttpReceiver({ context, certificate });
    const http = openInternal(context, receiver.port);
    for (let post = 0; post < 30; post += 1) {
      await http.post(`https://callbacks.example.com:${receiver.port}/`, {}, '{}', LIMIT);
    }
    assert.equal(receiver.requests.length, 30);
    // Two, because undici waits one turn of the event loop before it reuses a connection.
    assert.ok(receiver.connections.length <= 2, `${receiver.connections.length} connections`);
  });
});

suite('connections', () => {
  test('to one origin grow with concurrent posts up to the limit', async (context) => {
    const receiver = await startHttpReceiver({ context, respond: (response) => setImmediate(() => response.end()) });
    const http = open(context, { connectionsPerOriginMax: 8 });
    const url = `http://127.0.0.1:${receiver.port}/`;
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, index) => http.post(url, {}, '{}', { ...LIMIT, owner: ownerOf(index) })),
    );
    assert.ok(replies.every(({ status }) => status === 200));
    assert.equal(receiver.requests.length, 200);
    assert.equal(receiver.connections.length, 8);
  });

  test('to a slow receiver delay only its own callbacks', async (context) => {
    const slow = await startHttpReceiver({ context, respond: neverRespond });
    const quick = await startHttpReceiver({ context });
    const http = open(context, { connectionsPerOriginMax: 4 });
    let settled = 0;
    const hanging = Array.from({ length: 20 }, () =>
      http.post(`http://127.0.0.1:${slow.port}/`, {}, '{}', LIMIT).catch(() => (settled += 1)),
    );
    for (let post = 0; post < 50; post += 1) {
      assert.equal((await http.post(`http://127.0.0.1:${quick.port}/`, {}, '{}', LIMIT)).status, 200);
    }
    assert.equal(settled, 0);
    assert.ok(slow.connections.length <= 4);
    await http.close();
    await Promise.all(hanging);
  });

  test('of the least recently used origin are closed when there are too many origins', async (context) => {
    const receivers = await Promise.all([1, 2, 3].map(() => startHttpReceiver({ context })));
    const [first, second, third] = receivers;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    const http = open(context, { originsMax: 2, idleTimeoutMs: 600_000 });
    const post = ({ port }: { port: number }) => http.post(`http://127.0.0.1:${port}/`, {}, '{}', LIMIT);
    await post(first);
    await post(second);
    await post(first);
    const leaving = second.connections.map((socket) => once(socket, 'close'));
    await post(third);
    await Promise.all(leaving);
    assert.ok(first.connections.some((socket) => !socket.destroyed));
    assert.equal((await post(second)).status, 200);
  });

  test('are waited for until the timeout; the post is then never sent', async (context) => {
    const first = Promise.withResolvers<() => void>();
    const receiver = await startHttpReceiver({
      context,
      respond: (response, { body }) => {
        if (body === 'first') first.resolve(() => response.end());
        else response.end();
      },
    });
    const http = open(context, { connectionsPerOriginMax: 1 });
    const url = `http://127.0.0.1:${receiver.port}/`;
    const holding = http.post(url, {}, 'first', LIMIT);
    const release = await first.promise;
    const late = Array.from({ length: 20 }, () => http.post(url, {}, 'late', { ...LIMIT, timeoutMs: 50 }));
    await Promise.all(late.map((post) => fails(post, 'timeout', /^No connection to 127\.0\.0\.1 within 50 ms$/)));
    const later = http.post(url, {}, 'later', LIMIT);
    release();
    assert.equal((await holding).status, 200);
    await later;
    assert.deepEqual(
      receiver.requests.map(({ body }) => body),
      ['first', 'later'],
    );
  });

  test('that wait for an unanswered name share one query', async (context) => {
    let queries = 0;
    const http = open(context, {
      connectTimeoutMs: 300,
      resolveName: () => {
        queries += 1;
        return new Promise(() => undefined);
      },
    });
    const posts = Array.from({ length: 50 }, (_, index) =>
      http.post('https://callbacks.example.com/', {}, '{}', { ...LIMIT, owner: ownerOf(index) }),
    );
    await Promise.all(posts.map((post) => fails(post, 'timeout', /in time$/)));
    assert.equal(queries, 1);
  });

  test('go to the next address of a name when one does not answer', async (context) => {
    const receiver = await startHttpReceiver({ context });
    const addresses = ['127.0.0.2', '::1', '127.0.0.1'];
    const resolveName: ResolveName = async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    const http = open(context, { resolveName });
    assert.equal((await http.post(`http://localhost:${receiver.port}/`, {}, '{}', LIMIT)).status, 200);
  });

  test('a closed port and an unknown name are failures that say so', async (context) => {
    const http = open(context);
    // No server listens on port 1.
    await fails(http.post('http://127.0.0.1:1/', {}, '{}', LIMIT), 'unreachable', /no server listens on this port$/);
    const unknown = open(context, { resolveName: () => Promise.reject(new Error('ENOTFOUND')) });
    await fails(
      unknown.post('https://callbacks.example.com/', {}, '{}', LIMIT),
      'unreachable',
      /does not resolve to public addresses only$/,
    );
  });
});

suite('closing', () => {
  test('ends posts in flight and waiting posts, without blaming the receiver', async (context) => {
    const receiver = await startHttpReceiver({ context, respond: neverRespond });
    const http = open(context, { connectionsPerOriginMax: 2 });
    const posts = Array.from({ length: 5_000 }, (_, index) =>
      http.post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', { ...LIMIT, owner: ownerOf(index % 3) }).then(
        () => assert.fail('a reply'),
        (error: unknown) => error,
      ),
    );
    while (receiver.requests.length < 2) await new Promise(setImmediate);
    await http.close();
    for (const error of await Promise.all(posts))
      assert.ok(error instanceof Error && !(error instanceof OutboundFailure));
    await assert.rejects(http.post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', LIMIT), /closed/);
    assert.equal(receiver.requests.length, 2);
  });

  test("a caller's mistake is not a failure of the receiver", async (context) => {
    const receiver = await startHttpReceiver({ context });
    const http = open(context);
    const post = http.post(`http://127.0.0.1:${receiver.port}/`, { 'bad header': 'x\r\ny' }, '{}', LIMIT);
    await assert.rejects(post, (error) => error instanceof Error && !(error instanceof OutboundFailure));
    assert.equal((await http.post(`http://127.0.0.1:${receiver.port}/`, {}, '{}', LIMIT)).status, 200);
  });
});
