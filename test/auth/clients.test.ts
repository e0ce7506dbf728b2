import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { createClients } from '../../apps/server/src/auth/clients.ts';
import { changeClient, insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, openDatabase, type Row } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { LIMITS } from './client-limits.ts';

/** The clients, and how they use SNAP. */
const QUERIES_OF_A_RELOAD = 2;

/**
 * Regression: of two concurrent reloads the older could finish last and win, and a disabled client was accepted again.
 */
test('a reload that began earlier never replaces the result of a later one', async (context) => {
  const { connection, drop } = await createTestDatabase();
  context.after(drop);
  const database = openDatabase({ connection, connectionsMax: 2, log: pino({ level: 'silent' }) });
  context.after(database.close);
  await insertClient(database, { clientId: 'alpha', name: 'alpha', secretHash: Buffer.alloc(32), scopes: [] });

  // The reply to the first query is delayed.
  const firstQueried = Promise.withResolvers<void>();
  const delayed = Promise.withResolvers<void>();
  let queries = 0;
  const slow: Database = {
    ...database,
    async query<R extends Row>(sql: string, values?: readonly unknown[], name?: string) {
      const rows = await database.query<R>(sql, values, name);
      queries += 1;
      if (queries > 1) return rows;
      firstQueried.resolve();
      await delayed.promise;
      return rows;
    },
  };
  const clients = createClients(slow, LIMITS);
  const older = clients.reload();
  await firstQueried.promise;
  await changeClient(database, 'alpha', 'disable');
  const newer = [clients.reload(), clients.reload(), clients.reload()];
  // Enough time for a reload that would not wait for the older one.
  for (let times = 0; times < 20; times += 1) await database.query('select');
  delayed.resolve();
  await Promise.all([older, ...newer]);
  assert.equal(clients.find('alpha')?.disabled, true);
  assert.equal(queries, 2 * QUERIES_OF_A_RELOAD, 'the reloads requested meanwhile share one');
});
