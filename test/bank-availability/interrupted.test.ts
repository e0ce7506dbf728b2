import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { withServiceTimeouts } from '../support/database.ts';
import { namesOf, openDatabase, startCheckingService, startStoppableBank } from './stoppable-bank.ts';

/** Whatever befalls those who tell of a bank, it is told. */

test('what PostgreSQL could not keep is told when it can, once', async (context) => {
  const database = withServiceTimeouts(await openDatabase(context));
  const bank = await startStoppableBank(context);
  const asker = await startCheckingService(context, database, bank);
  const other = new pg.Client(database.connection);
  await other.connect();
  try {
    await other.query('begin');
    // Nobody who reads is held up, and whoever writes an event is.
    await other.query('lock table tiba.events in share mode');
    bank.isStopped = true;
    const { logged } = asker.service;
    await asker.checkUntil('an attempt in vain', () =>
      logged.some(({ msg }) => String(msg).includes('publishing bank availability failed')),
    );
    assert.deepEqual(await asker.events(), []);
    await other.query('rollback');
  } finally {
    await other.end();
  }
  assert.deepEqual(namesOf(await asker.untilEvents(1)), [['evt_CENAIDJA_1', 'bank.down']]);
});

test('a thousand clients are told, also those whom a process that died had not come to', async (context) => {
  const database = await openDatabase(context);
  const bank = await startStoppableBank(context);
  const { service, checkUntil } = await startCheckingService(context, database, bank);
  const { query } = service.app.database;
  await query(
    `insert into tiba.clients (client_id, name, secret_hash, scopes)
     select 'many-' || n, '', '', '{account:check}' from generate_series(1001, 2000) n`,
  );
  await query(
    `insert into tiba.bank_availability (bic, status, since, notified_up_to_client_id) values ('BRINIDJA', 'DOWN', now(), 'many-1500')`,
  );
  const toldOf = async (bic: string): Promise<{ clients: number; first: string; all: boolean }[]> =>
    query(
      `select count(*)::int as clients, min(client_id) as first,
              (select notified_up_to_client_id is null from tiba.bank_availability where bic = $1) as all
         from tiba.events where client_id like 'many-%' and subject_id = $1`,
      [bic],
    );
  await checkUntil('all are told of BRI', async () => (await toldOf('BRINIDJA'))[0]?.all === true);
  assert.deepEqual(await toldOf('BRINIDJA'), [{ clients: 500, first: 'many-1501', all: true }]);
  bank.isStopped = true;
  await checkUntil('all are told of BCA', async () => (await toldOf('CENAIDJA'))[0]?.clients === 1_000);
});
