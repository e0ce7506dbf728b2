import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { createSnapCredentials } from '../../apps/server/src/auth/snap-credentials.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService } from '../support/service.ts';
import { databaseUrlOf, type ManageEnd, manage } from './manage-process.ts';

/** The test service's. */
const SECRET_KEY = Buffer.alloc(32, 7);

test('keys and secrets of a SNAP client reach the running service, and end in it', async (t) => {
  const database = await createTestDatabase();
  t.after(database.drop);
  const service = await startTestService({ rails: [], database });
  t.after(service.close);
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-snap-keys-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const { publicKey, privateKey } = rsaKeys();
  const spki = publicKey.export({ type: 'spki', format: 'pem' });
  await writeFile(path.join(directory, 'public.pem'), spki);
  await writeFile(path.join(directory, 'private.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const keyId = hash('sha256', publicKey.export({ type: 'spki', format: 'der' }), 'hex').slice(0, 16);

  const environment = {
    DATABASE_URL: databaseUrlOf(database),
    TIBA_SECRET_KEY: SECRET_KEY.toString('base64'),
  };
  const end = (...args: string[]) => manage(['client', ...args], { environment, cwd: directory });
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await end(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const snap = () => service.app.clients.find('alpha')?.snap ?? null;

  assert.equal(snap(), null);
  await run('snap-key', 'alpha', '--add', 'public.pem');
  await eventually('the key reaches the service', () => snap()?.publicKeys.length === 1);
  assert.deepEqual(snap()?.publicKeys, [{ keyId, publicKey: spki }]);
  assert.equal(snap()?.partnerId, 'alpha');

  const secretOf = (text: string): string => /snap_secret {2}(\S{43})\n/.exec(text)?.[1] ?? assert.fail(text);
  const first = secretOf(await run('snap-secret', 'alpha'));
  const second = secretOf(await run('snap-secret', 'alpha', '--former-hours', '1'));
  assert.notEqual(first, second);
  await run('snap', 'alpha', '--partner-id', 'SHOP', '--external-ids', 'off', '--clock-skew', '60');
  await eventually('the options reach the service', () => snap()?.clockSkewSeconds === 60);
  assert.equal(service.app.clients.findByPartnerId('SHOP')?.clientId, 'alpha');
  const open = createSnapCredentials(createSeal(SECRET_KEY));
  const stored = snap() ?? assert.fail();
  assert.deepEqual(open(stored).secrets(), [second, first]);
  assert.ok(!stored.secretSealed?.toString('latin1').includes(second), 'the secret is sealed');
  const shown = (await run('snap', 'alpha')).split('\n').slice(0, 7);
  assert.deepEqual(shown, [
    'SNAP of alpha:',
    'partner-id    SHOP',
    'external-ids  off',
    'body-hash     minified',
    'clock-skew    60',
    `keys          ${keyId}`,
    'secret        set',
  ]);

  await assertRefusals(end);
  const otherKey = { ...environment, TIBA_SECRET_KEY: Buffer.alloc(32, 8).toString('base64') };
  const refused = await manage(['client', 'snap-secret', 'alpha'], { environment: otherKey });
  assert.notEqual(refused.code, 0, 'a secret sealed with another key could not be read by the service');

  await run('snap-key', 'alpha', '--remove', keyId);
  await eventually('the key ends', () => snap()?.publicKeys.length === 0);
  await run('snap-end', 'alpha');
  await eventually('SNAP ends', () => snap() === null);
});

/** The messages say what is wrong. */
async function assertRefusals(end: (...args: string[]) => Promise<ManageEnd>): Promise<void> {
  const wrong: readonly (readonly [string[], RegExp])[] = [
    [['snap-key', 'alpha', '--add', 'private.pem'], /^private\.pem: this is a private key/],
    [['snap-key', 'unknown', '--add', 'public.pem'], /^client unknown does not exist/],
    [['snap', 'beta', '--partner-id', 'SHOP'], /^another client has the partner ID SHOP/],
  ];
  await Promise.all(
    wrong.map(async ([args, message]) => {
      const { code, stderr } = await end(...args);
      assert.equal(code, 1, args.join(' '));
      // The first line names the database.
      assert.match(stderr.split('\n').slice(1).join('\n'), message);
    }),
  );
}
