import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import fastify from 'fastify';
import { Webhook } from 'standardwebhooks';
import { CallbackError, type VerifiedCallback, verifyCallback } from '../../packages/client/src/callbacks.ts';
import {
  expressCallbackHandler,
  fastifyCallbackHandler,
  fetchCallbackHandler,
  type HandlerOptions,
} from '../../packages/client/src/handlers.ts';
import { disbursementCallback, signCallback, TEST_SECRET } from '../../packages/client/src/testing.ts';
import { listenOnLoopback } from '../support/http-receiver.ts';

const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;
const callback = disbursementCallback({ amount: '9007199254740993.01' });

suite('verifyCallback', () => {
  test('accepts what Standard Webhooks signs, and signs what it verifies; amounts stay exact', async () => {
    const { headers, body } = await signCallback(callback);
    new Webhook(TEST_SECRET).verify(body, headers);
    assert.ok(body.includes('"amount":9007199254740993.01'));
    const now = new Date();
    const foreign = {
      'webhook-id': 'evt_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': new Webhook(TEST_SECRET).sign('evt_1', now, body),
    };
    for (const given of [headers, foreign, new Headers(foreign)]) {
      assert.deepEqual((await verifyCallback(given, body, TEST_SECRET)).callback, callback);
    }
    assert.equal((await verifyCallback(headers, Buffer.from(body), TEST_SECRET)).id, 'evt_TB2026112100000001_2');
  });

  test('while a secret is rotated, either secret verifies, and so does a list of both', async () => {
    const [before, after] = [newSecret(), newSecret()];
    const { headers, body } = await signCallback(callback, [after, before]);
    for (const secrets of [before, after, [before, after], [newSecret(), after]]) {
      assert.equal((await verifyCallback(headers, body, secrets)).callback.type, 'disbursement.succeeded');
    }
  });

  test('a callback older or newer than five minutes is refused: it could be a repetition', async () => {
    const sentAt = new Date('2026-11-21T04:32:26Z');
    const { headers, body } = await signCallback(callback, TEST_SECRET, { sentAt });
    for (const [seconds, isFresh] of [
      [-301, false],
      [-300, true],
      [0, true],
      [300, true],
      [301, false],
    ] as const) {
      const verified = verifyCallback(headers, body, TEST_SECRET, { now: () => sentAt.getTime() + seconds * 1_000 });
      assert.equal(
        await verified.then(() => true).catch((error: unknown) => !(error instanceof CallbackError)),
        isFresh,
      );
    }
  });

  test('one changed byte of body, ID or time, another secret, no header: CallbackError', async () => {
    const { headers, body } = await signCallback(callback);
    const changed: readonly (readonly [Record<string, string>, string, string])[] = [
      [headers, body.replace('SUCCESS', 'FAILED!'), TEST_SECRET],
      [{ ...headers, 'webhook-id': 'evt_2' }, body, TEST_SECRET],
      [{ ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, body, TEST_SECRET],
      [{ ...headers, 'webhook-timestamp': `${headers['webhook-timestamp']}.0` }, body, TEST_SECRET],
      [{ ...headers, 'webhook-signature': 'v1,' }, body, TEST_SECRET],
      [{ ...headers, 'webhook-signature': 'v1,%%%' }, body, TEST_SECRET],
      [{ ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1', 'v2') }, body, TEST_SECRET],
      [headers, body, newSecret()],
      [{}, body, TEST_SECRET],
    ];
    for (const [given, text, secret] of changed) {
      await assert.rejects(verifyCallback(given, text, secret), CallbackError);
    }
  });

  test('no secret, an empty one and a short one are a mistake, and never verify (standard-webhooks: empty passed)', async () => {
    const { headers, body } = await signCallback(callback);
    for (const secrets of ['', 'whsec_', [], ['whsec_AAAA'], [TEST_SECRET, '']]) {
      await assert.rejects(verifyCallback(headers, body, secrets), TypeError);
    }
  });
});

suite('handlers', () => {
  const servers: readonly (readonly [
    name: string,
    start: (context: TestContext, options: HandlerOptions) => Promise<string>,
  ])[] = [
    [
      'Express and node:http',
      async (context, options) => {
        const handler = expressCallbackHandler(options);
        const listener = await listenOnLoopback(createServer((request, response) => void handler(request, response)));
        context.after(listener.close);
        return `http://127.0.0.1:${listener.port}/tiba`;
      },
    ],
    [
      'Fastify',
      async (context, options) => {
        const app = fastify();
        context.after(() => app.close());
        await app.register(fastifyCallbackHandler('/tiba', options));
        app.post('/other', ({ body }) => body);
        const url = await app.listen({ port: 0 });
        const other = await fetch(`${url}/other`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"parsed":true}',
        });
        assert.deepEqual(await other.json(), { parsed: true }, 'other routes keep their parsers');
        return `${url}/tiba`;
      },
    ],
    [
      'fetch',
      (context, options) => {
        const handler = fetchCallbackHandler(options);
        context.mock.method(globalThis, 'fetch', (url: string, init: RequestInit) => handler(new Request(url, init)));
        return Promise.resolve('http://localhost/tiba');
      },
    ],
  ];
  for (const [name, start] of servers) {
    test(`${name}: 204 for a genuine callback, 401 for another, 500 when it could not be stored`, async (context) => {
      const stored: VerifiedCallback[] = [];
      const errors: unknown[] = [];
      const url = await start(context, {
        secrets: () => [newSecret(), TEST_SECRET],
        onCallback(verified) {
          if (verified.id === 'evt_full') throw new Error('the disk is full');
          stored.push(verified);
        },
        onError: (error) => errors.push(error),
      });
      const post = async (signed: { readonly headers: Record<string, string>; readonly body: string }) =>
        (await fetch(url, { method: 'POST', ...signed })).status;
      const genuine = await signCallback(callback);
      assert.equal(await post(genuine), 204);
      assert.equal(await post({ ...genuine, body: `${genuine.body} ` }), 401);
      assert.equal(await post(await signCallback(callback, TEST_SECRET, { id: 'evt_full' })), 500);
      assert.equal(await post({ ...genuine, body: 'x'.repeat(300_000) }), 413);
      assert.deepEqual(
        stored.map((each) => each.callback),
        [callback],
      );
      assert.match(String(errors), /disk is full/);
    });
  }

  test('node:http: a body that breaks off is reported, and its handler never rejects', async (context) => {
    const errors: unknown[] = [];
    const handler = expressCallbackHandler({
      secrets: TEST_SECRET,
      onCallback: () => undefined,
      onError: (error) => errors.push(error),
    });
    const handled = Promise.withResolvers<void>();
    const listener = await listenOnLoopback(
      createServer((request, response) => {
        handler(request, response).then(handled.resolve, handled.reject);
      }),
    );
    context.after(listener.close);
    const socket = connect(listener.port, '127.0.0.1');
    context.after(() => socket.destroy());
    socket.end('POST /tiba HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nten bytes.');
    // Express 4 and node:http ignore this promise: as a rejection it would end the process.
    await handled.promise;
    assert.match(String(errors), /aborted/);
  });

  test('an onError that throws or rejects never makes a handler reject: the answer stays 500', async () => {
    const { headers, body } = await signCallback(callback);
    const fail = () => {
      throw new Error('the log is full');
    };
    for (const onError of [fail, () => Promise.reject(new Error('the log is away'))]) {
      const options: HandlerOptions = { secrets: TEST_SECRET, onCallback: fail, onError };
      const request = () => new Request('http://localhost/tiba', { method: 'POST', headers, body });
      assert.equal((await fetchCallbackHandler(options)(request())).status, 500);
      const used = request();
      await used.text();
      assert.equal((await fetchCallbackHandler(options)(used)).status, 500, 'a body that was read before');
      const response = { statusCode: 0, end: () => undefined };
      const parsed = { headers, body: JSON.parse(body), [Symbol.asyncIterator]: () => assert.fail('read twice') };
      await expressCallbackHandler(options)(parsed, response);
      assert.equal(response.statusCode, 500);
    }
  });

  test('Express: a raw body is taken as it is, and a parsed one is a mistake that is named', async () => {
    const { headers, body } = await signCallback(callback);
    const errors: unknown[] = [];
    const handler = expressCallbackHandler({
      secrets: TEST_SECRET,
      onCallback: () => undefined,
      onError: (error) => errors.push(error),
    });
    const statusOf = async (parsed: unknown): Promise<number> => {
      const response = { statusCode: 0, end: () => undefined };
      const request = { headers, body: parsed, [Symbol.asyncIterator]: () => assert.fail('read twice') };
      await handler(request, response);
      return response.statusCode;
    };
    assert.equal(await statusOf(Buffer.from(body)), 204);
    assert.equal(await statusOf(JSON.parse(body)), 500);
    assert.match(String(errors), /before express\.json/);
  });
});
