import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { assertError } from './assertions.ts';
import { openRawConnection, rawRequest } from './raw-connection.ts';
import { type Signer, signToken, validClaims } from './tokens.ts';

/** docs/contract.md 5.1: an external issuer, configured by its JWKS, in place of the built-in one. */

const ISSUER = 'https://login.example';
const AUDIENCE = 'https://api.example';

/** The answer of the issuer's JWKS address, sent once `held` has resolved. */
let published: { status: number; body: string };
let held: Promise<void> = Promise.resolve();
let issuer: Server;
let signer: Signer;

before(async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' };
  published = { status: 200, body: JSON.stringify({ keys: [jwk] }) };
  signer = { key: privateKey, header: { alg: 'ES256', typ: 'at+jwt', kid: 'one' } };
  issuer = createServer((_request, response) => {
    void held.then(() =>
      response.writeHead(published.status, { 'content-type': 'application/json' }).end(published.body),
    );
  }).listen(0, '127.0.0.1');
  await once(issuer, 'listening');
});
after(() => issuer?.close());

const startService = (): Promise<TestService> =>
  startTestService({
    settings: {
      tokenIssuer: ISSUER,
      tokenJwksUrl: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/jwks`,
      tokenAudience: AUDIENCE,
    },
  });

const claims = (changes: Record<string, unknown> = {}): Record<string, unknown> =>
  validClaims(ISSUER, 'alpha', { aud: AUDIENCE, ...changes });

async function checkStatus(
  service: TestService,
  changes: Record<string, unknown> = {},
  by: Signer = signer,
): Promise<Answer> {
  return service.get('/api/v1/check-status/NONE', { token: await signToken(claims(changes), by) });
}

suite('tokens of an external issuer', () => {
  let service: TestService;
  before(async () => {
    service = await startService();
    // A request waits for keys for less than a second: on a slow machine the first one may come too early.
    await eventually('the keys are known', async () => (await checkStatus(service)).status === 404);
  });
  after(() => service?.close());

  test('a valid one is accepted', async () => {
    assertError(await checkStatus(service), 'TRANSACTION_NOT_FOUND');
  });

  test('iss, aud, exp, iat, typ, signature and client are checked', async () => {
    const nowSeconds = Math.floor(Date.now() / 1000);
    for (const changes of [
      { iss: service.url },
      { aud: service.url },
      { exp: 1 },
      { client_id: 'unknown-client' },
      { jti: undefined },
      // Regression: a token of the future was accepted, and would have survived its revocation.
      { iat: nowSeconds + 3_600, exp: nowSeconds + 7_200 },
      { iat: nowSeconds + 60 },
    ]) {
      assertError(await checkStatus(service, changes), 'UNAUTHORIZED');
    }
    const { privateKey } = await generateKeyPair('ES256');
    assertError(await checkStatus(service, {}, { ...signer, key: privateKey }), 'UNAUTHORIZED');
    assertError(
      await checkStatus(service, {}, { ...signer, header: { ...signer.header, typ: 'JWT' } }),
      'UNAUTHORIZED',
    );
  });

  test("an issuer's clock may be 5 seconds ahead", async () => {
    const iat = Math.floor(Date.now() / 1000) + 5;
    assertError(await checkStatus(service, { iat }), 'TRANSACTION_NOT_FOUND');
  });

  test('a token of the built-in issuer is UNAUTHORIZED', async () => {
    assertError(await service.get('/api/v1/check-status/NONE'), 'UNAUTHORIZED');
  });

  test('the scopes are those that both the token and the client have', async () => {
    assertError(await checkStatus(service, { scope: 'account:check' }), 'FORBIDDEN');
    await service.addClient('narrow', ['account:check']);
    assertError(await checkStatus(service, { client_id: 'narrow' }), 'FORBIDDEN');
  });

  test('the routes of the built-in issuer are NOT_FOUND', async () => {
    for (const path of ['/oauth/token', '/oauth/jwks', '/.well-known/oauth-authorization-server']) {
      assertError(await service.get(path), 'NOT_FOUND');
    }
  });
});

test('regression: a body that ended while its token was being verified was neither rejected nor logged', async () => {
  const service = await startService();
  const release = Promise.withResolvers<void>();
  held = release.promise;
  try {
    const connection = await openRawConnection(service.url);
    const requested = once(issuer, 'request');
    const authorization = `Bearer ${await signToken(claims(), signer)}`;
    const headers = { authorization, 'content-type': 'application/json', 'content-length': '9' };
    connection.send(rawRequest('POST', '/api/v1/check-account', { headers }));
    connection.send('{');
    await requested;
    connection.endSending();
    await connection.closed;
    release.resolve();
    await eventually('the request is logged', () =>
      service.logged.some(({ errorCode, reason }) => errorCode === 'REQUEST_TIMEOUT' && reason !== undefined),
    );
    assert.equal(service.logged.filter(({ route }) => route !== undefined).length, 1, 'one request, one line');
  } finally {
    release.resolve();
    held = Promise.resolve();
    await service.close();
  }
});

suite('an issuer whose key set cannot be read', () => {
  for (const [name, answer] of [
    ['answers 500', { status: 500, body: 'error' }],
    ['answers without JSON', { status: 200, body: '<html>' }],
    ['answers without a key set', { status: 200, body: '{"keys":"none"}' }],
  ] as const) {
    test(`when it ${name}, a valid token is SERVICE_UNAVAILABLE, never UNAUTHORIZED, and accepted after`, async () => {
      const service = await startService();
      const right = published;
      try {
        published = answer;
        assertError(await checkStatus(service), 'SERVICE_UNAVAILABLE');
        published = right;
        await eventually('a valid token is accepted', async () => (await checkStatus(service)).status === 404);
      } finally {
        published = right;
        await service.close();
      }
    });
  }
});

test('an issuer that cannot be reached makes every token SERVICE_UNAVAILABLE', async () => {
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  const service = await startTestService({
    settings: { tokenIssuer: ISSUER, tokenJwksUrl: `http://127.0.0.1:${port}/`, tokenAudience: AUDIENCE },
  });
  try {
    const answer = await checkStatus(service);
    assertError(answer, 'SERVICE_UNAVAILABLE');
    assert.ok(!answer.text.includes(String(port)));
  } finally {
    await service.close();
  }
});
