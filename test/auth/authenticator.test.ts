import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AccessToken } from '../../apps/server/src/auth/access-tokens.ts';
import { createAuthenticator } from '../../apps/server/src/auth/authenticator.ts';
import type { Client } from '../../apps/server/src/auth/clients.ts';
import { LIMITS } from './client-limits.ts';

const client: Client = {
  clientId: 'alpha',
  secretHash: Buffer.alloc(32),
  secondSecretHash: null,
  scopes: new Set(['status:read']),
  disabled: false,
  trusted: false,
  tokensValidFromSeconds: 0,
  limits: LIMITS,
  snap: null,
};
const ADDRESS = { ip: '192.0.2.1' };

/** An authenticator that accepts every token, and the list of tokens that it had verified. */
function createAuthenticatorUnderTest() {
  const verified: string[] = [];
  const authenticator = createAuthenticator({
    clients: { find: () => client, findByPartnerId: () => undefined, reload: () => Promise.resolve() },
    notifications: { isCurrent: () => true, waitUntilCurrent: () => Promise.resolve(true) },
    verify(token): Promise<AccessToken> {
      verified.push(token);
      const expiresAtSeconds = Math.ceil(Date.now() / 1000) + 900;
      return Promise.resolve({ clientId: 'alpha', scopes: ['status:read'], issuedAtSeconds: 1, expiresAtSeconds });
    },
    throttle: { recordFailure: () => 0 },
  });
  const outcome = async (header: string): Promise<string> =>
    (await authenticator.authenticate(header, ADDRESS)).outcome;
  return { authenticator, outcome, verified };
}

suite('a token', () => {
  test('is the same token however its scheme is spelled: it is verified once and cached once', async () => {
    // Regression: each spelling was cached apart, so one token could evict the tokens of all other clients.
    const { authenticator, outcome, verified } = createAuthenticatorUnderTest();
    for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', 'bEaReR  ', 'Bearer  ', `Bearer${' '.repeat(5_000)}`]) {
      assert.equal(await outcome(`${scheme}a.b.c`), 'authenticated', scheme);
      assert.notEqual(await authenticator.reauthenticate(`${scheme}a.b.c`), null);
    }
    assert.deepEqual(verified, ['a.b.c']);
    assert.equal(await outcome('Bearer a.b.d'), 'authenticated');
    assert.deepEqual(verified, ['a.b.c', 'a.b.d']);
  });

  test('of 8 KiB is verified, a longer one is rejected without verification', async () => {
    const { outcome, verified } = createAuthenticatorUnderTest();
    assert.equal(await outcome(`Bearer ${'x'.repeat(8_192)}`), 'authenticated');
    assert.equal(await outcome(`Bearer ${'x'.repeat(8_193)}`), 'unauthenticated');
    assert.equal(verified.length, 1);
  });

  test('is not recognized without its scheme, or with characters that no token has', async () => {
    const { outcome, verified } = createAuthenticatorUnderTest();
    for (const header of [
      '',
      ' ',
      'Bearer',
      'Bearer ',
      'a.b.c',
      ' Bearer a',
      'Bearer\ta',
      'Bearer a b',
      'Bearer  a b',
    ]) {
      assert.equal(await outcome(header), 'unauthenticated', header);
    }
    assert.deepEqual(verified, []);
  });
});
