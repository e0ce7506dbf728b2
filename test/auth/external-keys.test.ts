import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, mock, suite, test } from 'node:test';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import pino from 'pino';
import { createAccessTokenVerifier, type VerifyAccessToken } from '../../apps/server/src/auth/access-tokens.ts';
import { externalKeys } from '../../apps/server/src/auth/external-keys.ts';
import { type Signer, signToken, validClaims } from '../contract/tokens.ts';
import { eventually } from '../support/eventually.ts';

const ISSUER = 'https://login.example';
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Regression: ten minutes after an external issuer had failed, every new token was SERVICE_UNAVAILABLE. */
suite('the keys of an external issuer', () => {
  const jwks = new Map<string, JWK>();
  const signers = new Map<string, Signer>();
  let server: Server;
  /** The answer to requests for keys; null for none. */
  let published: { readonly status: number; readonly keys: readonly string[] } | null;
  let fetches: number;
  let logged: string[];
  let verify: VerifyAccessToken;

  before(async () => {
    for (const kid of ['first', 'second']) {
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      jwks.set(kid, { ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
      signers.set(kid, { key: privateKey, header: { alg: 'ES256', typ: 'at+jwt', kid } });
    }
    server = createServer((_request, response) => {
      fetches += 1;
      if (published === null) return;
      const { status, keys } = published;
      response.writeHead(status).end(JSON.stringify({ keys: keys.map((kid) => jwks.get(kid)) }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server?.closeAllConnections();
    server?.close();
  });

  beforeEach(async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) });
    const { port } = server.address() as AddressInfo;
    const keys = externalKeys(new URL(`http://127.0.0.1:${port}/jwks`), log);
    verify = createAccessTokenVerifier(keys, { issuer: () => ISSUER, audience: () => ISSUER });
    published = { status: 200, keys: ['first'] };
    await eventually('the keys are known', () => isAccepted('first'));
    [fetches, logged] = [0, []];
  });
  afterEach(() => mock.timers.reset());

  async function verifyTokenOf(kid: string): ReturnType<VerifyAccessToken> {
    const signer = signers.get(kid);
    assert.ok(signer !== undefined);
    return verify(await signToken(validClaims(ISSUER, 'alpha'), signer));
  }

  async function assertAccepted(kid: string): Promise<void> {
    assert.equal((await verifyTokenOf(kid))?.clientId, 'alpha');
  }

  /** A request waits for keys for less than a second, so on a slow machine the first one may come too early. */
  const isAccepted = (kid: string): Promise<boolean> =>
    verifyTokenOf(kid).then(
      (token) => token?.clientId === 'alpha',
      () => false,
    );

  test('are fetched once, and a key that the issuer has withdrawn is refused ten minutes later', async () => {
    await assertAccepted('first');
    published = { status: 200, keys: ['second'] };
    mock.timers.tick(9 * MINUTE_MS);
    await assertAccepted('first');
    assert.equal(fetches, 0);
    mock.timers.tick(MINUTE_MS);
    await eventually('the new key is known', () => isAccepted('second'));
    assert.equal(await verifyTokenOf('first'), null);
    assert.equal(fetches, 1);
  });

  test('are fetched when a token names an unknown one', async () => {
    published = { status: 200, keys: ['first', 'second'] };
    mock.timers.tick(MINUTE_MS);
    await eventually('the new key is known', () => isAccepted('second'));
    assert.equal(fetches, 1);
  });

  test('that cannot be fetched are warned of once', async () => {
    published = { status: 500, keys: [] };
    mock.timers.tick(11 * MINUTE_MS);
    await Promise.all([assertAccepted('first'), assertAccepted('first')]);
    await eventually('a warning is logged', () => logged.length > 0);
    await assertAccepted('first');
    assert.equal(logged.length, 1);
    assert.match(logged[0] ?? '', /TIBA_TOKEN_JWKS_URL/);
  });

  for (const [fault, answer] of [
    ['answers errors', { status: 500, keys: [] }],
    ['answers nothing', null],
  ] as const) {
    test(`are those of the last fetch for a day while the issuer ${fault}`, async () => {
      published = answer;
      mock.timers.tick(DAY_MS - MINUTE_MS);
      await assertAccepted('first');
      await assert.rejects(verifyTokenOf('second'), 'an unknown key is not a wrong one');
      mock.timers.tick(2 * MINUTE_MS);
      await assert.rejects(verifyTokenOf('first'));
      published = { status: 200, keys: ['first'] };
      server.closeAllConnections();
      await eventually('the keys are known', () => isAccepted('first'));
    });
  }
});
