import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import {
  createDueNotices,
  DUE_CHANNEL,
  type EndpointKey,
  notifyDue,
} from '../../apps/server/src/postgres/due-endpoints.ts';
import { createTestDatabase } from '../support/database.ts';
import { listenForDue } from '../support/due-notices.ts';
import { eventually } from '../support/eventually.ts';

test('each endpoint is named once to every listener, also more of them than one notification holds', async (t) => {
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

test('what another process has made due is left to it', async () => {
  const payload = await payloadOf({ clientId: 'alpha', endpointId: 'ep_1' });
  const named = { own: [] as EndpointKey[], other: [] as EndpointKey[] };
  const [own, other] = [createDueNotices(), createDueNotices('another process')];
  own.subscribe((endpoint) => named.own.push(endpoint));
  other.subscribe((endpoint) => named.other.push(endpoint));
  own.onNotification(payload);
  other.onNotification(payload);
  assert.deepEqual(named, { own: [{ clientId: 'alpha', endpointId: 'ep_1' }], other: [] });
  // As the release before sends it, which may serve beside this one.
  other.onNotification('alpha\u0002ep_2');
  assert.deepEqual(named.other, [{ clientId: 'alpha', endpointId: 'ep_2' }]);
});

/** What PostgreSQL tells those who listen. */
async function payloadOf(endpoint: EndpointKey): Promise<string> {
  const { connection, drop } = await createTestDatabase();
  const database = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  const listener = new pg.Client(connection);
  try {
    await listener.connect();
    await listener.query(`listen ${DUE_CHANNEL}`);
    const notified = once(listener, 'notification');
    await database.transaction(async (query) => notifyDue(query, [endpoint]));
    const [{ payload }] = (await notified) as [pg.Notification];
    return payload ?? '';
  } finally {
    await listener.end();
    await database.close();
    await drop();
  }
}
