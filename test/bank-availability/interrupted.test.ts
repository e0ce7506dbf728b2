import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { withServiceTimeouts } from '../support/database.ts';
import { namesOf, openDatabase, startCheckingService, startStoppableBank } from './stoppable-bank.ts';

/** An event of a bank reaches the clients although PostgreSQL or the publishing process fails. */

test('an event that PostgreSQL could not store is published once when it can', async (context) => {
  const database = withServiceTimeouts(await openDatabase(context));
  const bank = await startStoppableBank(context);
  const checking = await startCheckingService(context, database, bank);
  const blocker = new pg.Client(database.connection);
  await blocker.connect();
  try {
    await blocker.query('begin');
    // Readers are not blocked; everything that writes an event is.
    await blocker.query('lock table tiba.events in share mode');
    bank.isStopped = true;
    const { logged } = checking.service;
    await checking.checkUntil('a failed attempt', () =>
      logged.some(({ msg }) => String(msg).includes('publishing bank availability failed')),
    );
    assert.deepEqual(await checking.events(), []);
    await blocker.query('rollback');
  } finally {
    await blocker.end();
  }
  assert.deepEqual(namesOf(await checking.untilEvents(1)), [['evt_CENAIDJA_1', 'bank.down']]);
});

test('a thousand clients are notified, also those that a killed process had not reached', async (context) => {
  const database = await openDatabase(context);
  const bank = await startStoppableBank(context);
  const { service, checkUntil } = await startCheckingService(context, database, bank);
  const { query } = service.app.database;
  await query(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     select 'many-' || n, '', '', '{account:check}' from generate_series(1001, 2000) n`,
  );
  await query(
    `insert into tiba.bank_availability (bic, status, since, notified_up_to_client_id)
     values ('BRINIDJA', 'DOWN', now(), 'many-1500')`,
  );
  const notified = async (bic: string): Promise<Record<string, unknown>> => {
    const [events] = await query(
      `select count(*)::int as clients, min(client_id) as first
         from tiba.events where client_id like 'many-%' and subject_id = $1`,
      [bic],
    );
    const [availability] = await query(
      'select notified_up_to_client_id is null as all from tiba.bank_availability where bic = $1',
      [bic],
    );
    return { ...events, ...availability };
  };
  await checkUntil('all are notified about BRI', async () => (await notified('BRINIDJA'))['all'] === true);
  assert.deepEqual(await notified('BRINIDJA'), { clients: 500, first: 'many-1501', all: true });
  bank.isStopped = true;
  await checkUntil('all are notified about BCA', async () => (await notified('CENAIDJA'))['clients'] === 1_000);
});
