import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { createClients } from '../../apps/server/src/auth/clients.ts';
import { changeClient, insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, openDatabase, type Row } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { LIMITS_OF_ONE } from './limits-of-one.ts';

/** Regression: of two readings at once the older could end last and win, and a client that was disabled was let in again. */
test('a reading of the clients that began before another never replaces what that one read', async (context) => {
  const { connection, drop } = await createTestDatabase();
  context.after(drop);
  const database = openDatabase({ connection, connectionsMax: 2, log: pino({ level: 'silent' }) });
  context.after(database.close);
  await insertClient(database, { clientId: 'alpha', name: 'alpha', secretHash: Buffer.alloc(32), scopes: [] });

  // The reply to the first reading is slow on its way.
  const onItsWay = Promise.withResolvers<void>();
  const arrival = Promise.withResolvers<void>();
  let readings = 0;
  const slow: Database = {
    ...database,
    async query<R extends Row>(sql: string, values?: readonly unknown[], name?: string) {
      const rows = await database.query<R>(sql, values, name);
      readings += 1;
      if (readings > 1) return rows;
      onItsWay.resolve();
      await arrival.promise;
      return rows;
    },
  };
  const clients = createClients(slow, LIMITS_OF_ONE);
  const older = clients.reload();
  await onItsWay.promise;
  await changeClient(database, 'alpha', 'disable');
  const newer = [clients.reload(), clients.reload(), clients.reload()];
  // Time enough for any that would not wait for the older one.
  for (let times = 0; times < 20; times += 1) await database.query('select');
  arrival.resolve();
  await Promise.all([older, ...newer]);
  assert.equal(clients.find('alpha')?.disabled, true);
  assert.equal(readings, 2, 'those who ask meanwhile share a reading');
});
