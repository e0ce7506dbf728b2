import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import pino from 'pino';
import { parseUpdate } from '../../apps/server/src/feed/parse-update.ts';
import { insertClient } from '../../apps/server/src/postgres/clients.ts';
import { type Database, openDatabase } from '../../apps/server/src/postgres/database.ts';
import { sequenceFrom } from '../../apps/server/src/postgres/event-times.ts';
import { insertEvents } from '../../apps/server/src/postgres/events.ts';
import { createTransactionUpdater } from '../../apps/server/src/transactions/transaction-updater.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { statusUpdate, testBanks } from '../support/service.ts';

let testDatabase: TestDatabase;
let database: Database;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ connection: testDatabase.connection, connectionsMax: 2, log: pino({ level: 'silent' }) });
});
after(async () => {
  await database?.close();
  await testDatabase?.drop();
});

let clients = 0;
async function addClient(): Promise<string> {
  const clientId = `times-${(clients += 1)}`;
  await insertClient(database, { clientId, name: clientId, secretHash: randomBytes(32), scopes: [] });
  return clientId;
}

/** The events of a client in the order of their sequences, with their times as PostgreSQL writes them. */
const timesOf = async (clientId: string): Promise<string[]> =>
  (
    await database.query<{ time: string }>(
      `select to_char(occurred_at at time zone 'UTC', 'HH24:MI:SS.US') as time
         from tiba.events where client_id = $1 order by sequence`,
      [clientId],
    )
  ).map(({ time }) => time);

test("the times of a client's events never go back when the clock of the process that feeds does", async () => {
  let now = '2026-11-21T04:00:30.000Z';
  const updater = createTransactionUpdater({
    database,
    expectedMs: () => 1_800_000,
    firstInquiryMs: 5_000,
    now: () => Date.parse(now),
    versionFloor: () => 0,
  });
  const [one, two] = [await addClient(), await addClient()];
  const feed = (clientId: string, ...ids: readonly string[]): Promise<unknown> =>
    updater.apply(
      ids.map((id, index) => {
        const message = statusUpdate({
          client_id: clientId,
          transaction_id: id,
          reference_id: id,
          status: 'SUCCESS',
        });
        return { line: index + 1, source: 'core', raw: '{}', update: parseUpdate(message, testBanks) };
      }),
    );
  await feed(one, 'TT0000000001', 'TT0000000002');
  now = '2026-11-21T04:00:10.000Z';
  await feed(one, 'TT0000000003');
  await feed(two, 'TT0000000004');
  now = '2026-11-21T04:00:40.000Z';
  await feed(one, 'TT0000000005');
  const [at10, at30, at40] = ['04:00:10.000000', '04:00:30.000000', '04:00:40.000000'];
  assert.deepEqual(await timesOf(one), [at30, at30, at30, at40]);
  assert.deepEqual(await timesOf(two), [at10], 'another client has times of its own');
});

for (const distributed of [false, true]) {
  test(`times do not go back by a microsecond, ${distributed ? 'on a distributed' : 'on one'} PostgreSQL`, async () => {
    const [one, two] = [await addClient(), await addClient()];
    const insert = (occurredAt: string, ...clientIds: readonly string[]): Promise<void> =>
      database.transaction((query) =>
        insertEvents(
          Object.assign(query, { distributed }),
          clientIds.map((clientId) => ({ clientId, subjectId: 'CENAIDJA', version: 1, kind: 'bank.up', data: '{}' })),
          occurredAt,
        ),
      );
    await insert('2026-11-21T04:00:30.123456Z', one);
    await insert('2026-11-21T04:00:30.123Z', one, two, one);
    await insert('2026-11-21T04:00:30.124Z', one, two);
    const [earlier, first, later] = ['04:00:30.123000', '04:00:30.123456', '04:00:30.124000'];
    assert.deepEqual(await timesOf(one), [first, first, first, later]);
    assert.deepEqual(await timesOf(two), [earlier, later]);
  });
}

/** The clients with events, each with the sequence from which on they occurred at that time or later. */
async function sequencesFrom(time: string): Promise<ReadonlyMap<string, number>> {
  const rows = await database.query<{ client_id: string; sequence: number }>(
    `select c.client_id, found.sequence::float8 as sequence
       from tiba.clients c cross join lateral ${sequenceFrom('c.client_id', '$1::timestamptz')} found`,
    [time],
  );
  return new Map(rows.map((row) => [row.client_id, row.sequence]));
}

interface StoredEvent {
  readonly sequence: number;
  readonly second: number;
}

const timeOf = (second: number): string => new Date(Date.parse('2026-11-21T00:00:00Z') + second * 1_000).toISOString();

async function storeEvents(clientId: string, events: readonly StoredEvent[]): Promise<void> {
  await database.query(
    `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
     select $1, sequence, occurred_at, 1, 'CENAIDJA', 'bank.up', '{}'
       from unnest($2::bigint[], $3::timestamptz[]) as k (sequence, occurred_at)`,
    [clientId, events.map(({ sequence }) => sequence), events.map(({ second }) => timeOf(second))],
  );
}

suite('events are found by their time', () => {
  test('with gaps and equal times, before the first and after the last; a client without events has none', async () => {
    const [clientId, other, without] = [await addClient(), await addClient(), await addClient()];
    const sequences = [3, 4, 9, 10, 178_000_000_000_001, 178_000_000_000_002];
    await storeEvents(
      clientId,
      sequences.map((sequence, index) => ({ sequence, second: [10, 20, 20, 20, 30, 40][index] ?? 0 })),
    );
    await storeEvents(other, [{ sequence: 7, second: 1_000 }]);
    for (const [second, expected] of [
      [0, sequences],
      [10, sequences],
      [11, sequences.slice(1)],
      [20, sequences.slice(1)],
      [21, sequences.slice(4)],
      [40, sequences.slice(5)],
      [41, []],
    ] as const) {
      const found = await sequencesFrom(timeOf(second));
      const from = found.get(clientId) ?? Number.NaN;
      assert.deepEqual(
        sequences.filter((sequence) => sequence >= from),
        expected,
        `from second ${second}`,
      );
      assert.equal(found.get(other), 7);
      assert.ok(!found.has(without));
    }
  });

  test('whatever sequences and times they have', async (t) => {
    const seed = Number(process.env['FC_SEED'] ?? randomInt(2 ** 31));
    t.diagnostic(`seed ${seed}: FC_SEED=${seed} repeats this run`);
    const step = fc.record({
      gap: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 50 }), fc.constant(2 ** 47)),
      seconds: fc.integer({ min: 0, max: 3 }),
    });
    const history = fc.array(step, { maxLength: 40 });
    const property = fc.asyncProperty(history, history, async (...histories) => {
      const stored = new Map<string, StoredEvent[]>();
      for (const steps of histories) {
        const clientId = await addClient();
        const events: StoredEvent[] = [];
        for (const { gap, seconds } of steps) {
          const { sequence, second } = events.at(-1) ?? { sequence: 0, second: 0 };
          events.push({ sequence: sequence + gap, second: second + seconds });
        }
        await storeEvents(clientId, events);
        stored.set(clientId, events);
      }
      const end = Math.max(...Array.from(stored.values(), (events) => events.at(-1)?.second ?? 0)) + 1;
      for (let second = 0; second <= end; second += 1) {
        const found = await sequencesFrom(timeOf(second));
        for (const [clientId, events] of stored) {
          assert.equal(found.has(clientId), events.length > 0);
          const from = found.get(clientId) ?? 0;
          assert.deepEqual(
            events.filter(({ sequence }) => sequence >= from),
            events.filter((event) => event.second >= second),
          );
        }
      }
    });
    await fc.assert(property, { seed, numRuns: 20 });
  });
});

/** How many rows of tiba.events, and entries of its indexes, the search reads. */
async function readBySearch(clientId: string, time: string): Promise<number> {
  return database.transaction(async (query) => {
    const count = async (): Promise<number> => {
      const { rows } = await query<{ read: number }>(
        `select (pg_stat_get_xact_tuples_returned('tiba.events'::regclass)
                 + (select sum(pg_stat_get_xact_tuples_returned(indexrelid)) from pg_index
                     where indrelid = 'tiba.events'::regclass))::int as read`,
      );
      return rows[0]?.read ?? Number.NaN;
    };
    const earlier = await count();
    const { rows } = await query<{ sequence: number }>(
      `select found.sequence::float8 as sequence from ${sequenceFrom('$1', '$2::timestamptz')} found`,
      [clientId, time],
    );
    assert.equal(rows[0]?.sequence, 12_345);
    return (await count()) - earlier;
  });
}

const EVENTS = 20_000;

for (const [title, statistics] of [
  ['before the first statistics', []],
  ['with statistics of an empty table', ['vacuum analyze tiba.events']],
  ['with those of a few events', ['insert', 'vacuum analyze tiba.events', 'delete']],
  ['after a vacuum of none', ['insert', 'delete', 'vacuum tiba.events']],
  ['with those of another client', ['insert', 'vacuum analyze tiba.events']],
] as const) {
  test(`the search reads few entries of the primary key ${title}`, async () => {
    const [clientId, other] = [await addClient(), await addClient()];
    await database.query('truncate tiba.events');
    await database.query('alter table tiba.events set (autovacuum_enabled = off)');
    for (const statement of statistics) {
      if (statement === 'insert') await storeEvents(other, [{ sequence: 1, second: 1 }]);
      else if (statement === 'delete') await database.query('delete from tiba.events where client_id = $1', [other]);
      else await database.query(statement);
    }
    await database.query(
      `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
       select $1, n, timestamptz '2026-11-21T00:00:00Z' + n * interval '1 s', 1, 'CENAIDJA', 'bank.up', '{}'
         from generate_series(1, ${EVENTS}) n`,
      [clientId],
    );
    const read = await readBySearch(clientId, timeOf(12_345));
    assert.ok(read <= Math.ceil(Math.log2(EVENTS)) + 3, `${read} were read`);
  });
}
