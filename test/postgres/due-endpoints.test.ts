import assert from 'node:assert/strict';
import { test } from 'node:test';
import pino from 'pino';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { type EndpointKey, notifyDue } from '../../apps/server/src/postgres/due-endpoints.ts';
import { createTestDatabase } from '../support/database.ts';
import { listenForDue } from '../support/due-notices.ts';
import { eventually } from '../support/eventually.ts';

test('every process is told of each endpoint once, also of more than one notification holds', async (t) => {
  const { connection, drop } = await createTestDatabase();
  const log = pino({ level: 'silent' });
  const database = openDatabase({ connection, connectionsMax: 1, log });
  const named = [new Array<string>(), new Array<string>()];
  const listening = await Promise.all(
    named.map((own) => {
      const { dueNotices, listening } = listenForDue(connection, log);
      dueNotices.subscribe(({ clientId, endpointId }) => own.push(`${clientId} ${endpointId}`));
      return listening;
    }),
  );
  t.after(async () => {
    await Promise.all(listening.map((each) => each.close()));
    await database.close();
    await drop();
  });
  // The longest client IDs, in characters of four bytes each.
  const endpoints = Array.from({ length: 1_000 }, (_, index): EndpointKey => {
    const number = String(index).padStart(4, '0');
    return { clientId: '🏦'.repeat(60) + number, endpointId: `ep_${number}` };
  });
  await database.transaction(async (query) => notifyDue(query, endpoints));
  await database.transaction(async (query) => notifyDue(query, []));
  const expected = endpoints.map(({ clientId, endpointId }) => `${clientId} ${endpointId}`);
  for (const own of named) {
    await eventually('all endpoints are named', () => own.length >= expected.length);
    assert.deepEqual(own, expected);
  }
});
