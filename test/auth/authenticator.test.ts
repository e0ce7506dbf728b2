import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { AccessToken } from '../../apps/server/src/auth/access-tokens.ts';
import { createAuthenticator } from '../../apps/server/src/auth/authenticator.ts';
import type { Client } from '../../apps/server/src/auth/clients.ts';
import { LIMITS_OF_ONE } from './limits-of-one.ts';

const client: Client = {
  clientId: 'alpha',
  secretHash: Buffer.alloc(32),
  scopes: new Set(['status:read']),
  disabled: false,
  trusted: false,
  tokensValidFromSeconds: 0,
  limits: LIMITS_OF_ONE,
};
const ADDRESS = { ip: '192.0.2.1' };

/** An authenticator to which every token is good, and those that it had verified. */
function withVerified() {
  const verified: string[] = [];
  const authenticator = createAuthenticator({
    clients: { find: () => client, reload: () => Promise.resolve() },
    notifications: { isCurrent: () => true, waitUntilCurrent: () => Promise.resolve(true) },
    verify(token): Promise<AccessToken> {
      verified.push(token);
      const expiresAtSeconds = Math.ceil(Date.now() / 1000) + 900;
      return Promise.resolve({ clientId: 'alpha', scopes: ['status:read'], issuedAtSeconds: 1, expiresAtSeconds });
    },
    throttle: { recordFailure: () => {}, blockedMs: () => 0 },
  });
  const outcome = async (header: string): Promise<string> =>
    (await authenticator.authenticate(header, ADDRESS)).outcome;
  return { authenticator, outcome, verified };
}

suite('a token', () => {
  test('is one, however its scheme is written: it is verified once and kept once', async () => {
    // Regression: each spelling was kept apart, and one token could push out those of everybody else.
    const { authenticator, outcome, verified } = withVerified();
    for (const scheme of ['Bearer ', 'bearer ', 'BEARER ', 'bEaReR  ', 'Bearer  ', `Bearer${' '.repeat(5_000)}`]) {
      assert.equal(await outcome(`${scheme}a.b.c`), 'authenticated', scheme);
      assert.notEqual(await authenticator.reauthenticate(`${scheme}a.b.c`), null);
    }
    assert.deepEqual(verified, ['a.b.c']);
    assert.equal(await outcome('Bearer a.b.d'), 'authenticated');
    assert.deepEqual(verified, ['a.b.c', 'a.b.d']);
  });

  test('of 8 KiB is verified, a longer one is refused unseen', async () => {
    const { outcome, verified } = withVerified();
    assert.equal(await outcome(`Bearer ${'x'.repeat(8_192)}`), 'authenticated');
    assert.equal(await outcome(`Bearer ${'x'.repeat(8_193)}`), 'unauthenticated');
    assert.equal(verified.length, 1);
  });

  test('is none without its scheme, or with what no token has', async () => {
    const { outcome, verified } = withVerified();
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
