import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import {
  changeEndpoint,
  changeEndpointIn,
  insertEndpoint,
  prepareEnabling,
} from '../../apps/server/src/postgres/callback-endpoints.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, DatabaseContended, openDatabase } from '../../apps/server/src/postgres/database.ts';
import type { EndpointKey } from '../../apps/server/src/postgres/due-endpoints.ts';
import { insertEvents } from '../../apps/server/src/postgres/events.ts';
import { eventually } from '../support/eventually.ts';
import { type DeliverySetup, setUpDeliveries } from './delivery-setup.ts';

/** Endpoints are registered and changed while events are stored. */

let setup: DeliverySetup & { close(): Promise<void> };
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

const URL = 'https://callbacks.example.com/';
const WANTED = ['disbursement.succeeded'];
const OTHERS = ['disbursement.failed'];

const register = (database: Database, endpointId: string, kinds = WANTED): Promise<unknown> =>
  insertEndpoint(database, { clientId: 'alpha', endpointId, url: URL, kinds, secretSealed: randomBytes(60) }, 100);

/** What makes an endpoint want the events that are stored at the same time. */
const CHANGES = {
  registered: {
    prepare: async () => {},
    change: register,
  },
  enabled: {
    prepare: async (endpointId: string) => {
      await register(setup.database, endpointId);
      await changeEndpoint(setup.database, { clientId: 'alpha', endpointId }, { disabled: true });
    },
    change: (database: Database, endpointId: string) =>
      changeEndpoint(database, { clientId: 'alpha', endpointId }, { disabled: false }),
  },
  'given the kind': {
    prepare: (endpointId: string) => register(setup.database, endpointId, OTHERS),
    change: (database: Database, endpointId: string) =>
      changeEndpoint(database, { clientId: 'alpha', endpointId }, { kinds: WANTED }),
  },
} as const;

const untilLockWaits = (count: number): Promise<void> =>
  eventually(`${count} statements that wait for a lock`, async () => (await lockWaits()) >= count);

async function lockWaits(): Promise<number> {
  const rows = await setup.database.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length;
}

async function sequencesIn(table: 'events' | 'callback_deliveries', endpointId: string | null): Promise<number[]> {
  const rows = await setup.database.query<{ sequence: number }>(
    `select sequence::int from tiba.${table}
      where client_id = 'alpha' ${endpointId === null ? '' : 'and endpoint_id = $1'} order by sequence`,
    endpointId === null ? [] : [endpointId],
  );
  return rows.map(({ sequence }) => sequence);
}

/** Locks the numbers of the client's events, as another process does that stores some. */
async function holdNumbers(): Promise<() => Promise<void>> {
  const client = new pg.Client(setup.testDatabase.connection);
  await client.connect();
  await client.query('begin');
  await client.query("update tiba.event_sequences set last_sequence = last_sequence where client_id = 'alpha'");
  return async () => {
    await client.query('commit');
    await client.end();
  };
}

/**
 * Regression: events were numbered, and their endpoints read, in one statement, whose snapshot was older than its wait
 * for the client's numbers. So events that were committed after the answer to a registration had no delivery.
 */
for (const [name, { prepare, change }] of Object.entries(CHANGES)) {
  suite(`an endpoint that is ${name} while events wait for their numbers`, () => {
    test('gets each event that is committed after the answer', async () => {
      const endpointId = `ep_${randomBytes(6).toString('hex')}`;
      await prepare(endpointId);
      await setup.succeed(1);
      const release = await holdNumbers();
      const feeding = setup.succeed(1);
      await untilLockWaits(1);
      let answered = false;
      const changing = change(setup.database, endpointId).then(() => (answered = true));
      await eventually('the change to be answered, or to wait', async () => answered || (await lockWaits()) === 2);
      const releasing = answered ? null : release();
      await changing;
      const before = new Set(await sequencesIn('events', null));
      await (releasing ?? release());
      await feeding;
      const committedLater = (await sequencesIn('events', null)).filter((sequence) => !before.has(sequence));
      const delivered = new Set(await sequencesIn('callback_deliveries', endpointId));
      assert.deepEqual(
        committedLater.filter((sequence) => !delivered.has(sequence)),
        [],
      );
    });

    test('gets them when the events began to wait before the change was committed', async () => {
      const endpointId = `ep_${randomBytes(6).toString('hex')}`;
      await prepare(endpointId);
      await setup.succeed(1);
      let feeding: Promise<unknown> = Promise.resolve();
      const feedBeforeCommit: Database = {
        ...setup.database,
        transaction: (work, options) =>
          setup.database.transaction(async (query) => {
            const result = await work(query);
            // Before the endpoint itself is changed: its deliveries became due.
            if (typeof result === 'boolean') return result;
            feeding = setup.succeed(1);
            await untilLockWaits(1);
            return result;
          }, options),
      };
      await change(feedBeforeCommit, endpointId);
      await feeding;
      assert.deepEqual(
        await sequencesIn('callback_deliveries', endpointId),
        (await sequencesIn('events', null)).slice(-1),
      );
    });
  });
}

// Without the row there is nothing to lock: the first event of a client would not wait.
test('an endpoint that is registered before the first event of its client gets it', async () => {
  const fresh = await setUpDeliveries();
  try {
    await register(fresh.database, 'ep_first');
    await fresh.succeed(2);
    const rows = await fresh.database.query('select sequence::int from tiba.callback_deliveries order by sequence');
    assert.deepEqual(
      rows.map(({ sequence }) => sequence),
      [1, 2],
    );
  } finally {
    await fresh.close();
  }
});

/** A disabled endpoint whose deliveries with these sequences wait for a day. */
async function disabledWithLate(firstSequence: number, lastSequence: number): Promise<EndpointKey> {
  const key = { clientId: 'alpha', endpointId: `ep_${randomBytes(6).toString('hex')}` };
  await register(setup.database, key.endpointId);
  await changeEndpoint(setup.database, key, { disabled: true });
  await setup.database.query(
    `insert into tiba.callback_outbox (client_id, endpoint_id, sequence, next_attempt_at)
     select 'alpha', $1, n, now() + interval '1 day' from generate_series($2::bigint, $3::bigint) n`,
    [key.endpointId, firstSequence, lastSequence],
  );
  return key;
}

/**
 * Regression: the endpoint was enabled first, and its deliveries became due 1,000 at a time. Those that a killed
 * process left waited for up to a day, and enabling the endpoint again did not change that.
 */
test('a process that is killed while it enables an endpoint leaves no delivery behind', async () => {
  const key = await disabledWithLate(100_001, 102_500);
  const outcomes: string[] = [];
  for (let transactionsMax = 1; outcomes.at(-1) !== 'enabled'; transactionsMax += 1) {
    let transactions = 0;
    const killed: Database = {
      ...setup.database,
      transaction: async (work, options) => {
        if (transactions === transactionsMax) throw new Error('killed');
        transactions += 1;
        return setup.database.transaction(work, options);
      },
    };
    const outcome = await changeEndpoint(killed, key, { disabled: false }).then(
      () => 'enabled',
      () => 'killed',
    );
    outcomes.push(outcome);
    const { disabled_at: disabledAt } = await setup.endpointState(key);
    const late = await setup.database.query(
      'select from tiba.callback_outbox where endpoint_id = $1 and next_attempt_at > now()',
      [key.endpointId],
    );
    assert.ok(disabledAt !== null || late.length === 0, `${late.length} deliveries of an enabled endpoint wait`);
  }
  assert.ok(outcomes.length > 1, 'it was killed at least once');
});

test('an endpoint with many late deliveries is not enabled by a transaction that nothing has prepared', async () => {
  const key = await disabledWithLate(200_001, 201_001);
  const enable = () => setup.database.transaction((query) => changeEndpointIn(query, key, { disabled: false }));
  await assert.rejects(enable(), DatabaseContended);
  assert.ok((await setup.endpointState(key)).disabled_at !== null);
  await prepareEnabling(setup.database, key);
  assert.equal((await enable())?.disabledAt, null);
});

/** Regression: PostgreSQL made a plan for each execution, because it knew how many clients there were. */
test('the statement that numbers events keeps its plan, also for events of many clients', async () => {
  const { connection } = setup.testDatabase;
  const one = openDatabase({ connection, connectionsMax: 1, log: pino({ level: 'silent' }) });
  try {
    const clients = Array.from({ length: 5 }, (_, index) => `plan-${index}`);
    for (const clientId of clients) {
      await insertClient(one, { clientId, name: clientId, secretHash: randomBytes(32), scopes: [] });
    }
    for (let version = 1; version <= 10; version += 1) {
      const events = clients.map((clientId) => ({
        clientId,
        subjectId: 'CENAIDJA',
        version,
        kind: 'bank.up' as const,
        data: '{}',
      }));
      await one.transaction((query) => insertEvents(query, events, new Date().toISOString()));
    }
    const plans = await one.query<{ custom: number; generic: number }>(
      `select custom_plans::int as custom, generic_plans::int as generic
         from pg_prepared_statements where name = 'number-events'`,
    );
    // PostgreSQL makes five plans before it compares them with one for all values.
    assert.deepEqual(plans, [{ custom: 5, generic: 5 }]);
  } finally {
    await one.close();
  }
});
