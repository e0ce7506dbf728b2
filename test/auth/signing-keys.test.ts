import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { createSeal } from '../../apps/server/src/auth/secrets.ts';
import { createFirstSigningKey, rotateSigningKeys } from '../../apps/server/src/auth/signing-keys.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';

// Regression: each of the processes that started together on an empty database created a key that signs.
test('one key signs, however many processes start or rotate together', async (context) => {
  const { connection, drop } = await createTestDatabase();
  context.after(drop);
  const database = openDatabase({ connection, connectionsMax: 4, log: pino({ level: 'silent' }) });
  context.after(() => database.close());
  const seal = createSeal(Buffer.alloc(32, 7));
  const active = () =>
    database.query<{ key_id: string }>('select key_id from tiba.signing_keys where retired_at is null');

  await Promise.all(Array.from({ length: 4 }, () => createFirstSigningKey(database, seal)));
  const [first, ...others] = await active();
  assert.ok(first !== undefined);
  assert.deepEqual(others, []);
  const rotated = await Promise.all(Array.from({ length: 4 }, () => rotateSigningKeys(database, seal, 'EdDSA')));
  const [last, ...more] = await active();
  assert.deepEqual(more, []);
  assert.ok(rotated.includes(last?.key_id ?? ''));
  assert.notEqual(last?.key_id, first.key_id);
});
