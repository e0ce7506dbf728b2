import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { singleFlight } from '../../apps/server/src/lib/single-flight.ts';
import { listen, type Notifications } from '../../apps/server/src/postgres/notifications.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { bound } from '../support/suite-environment.ts';

const log = pino({ level: 'silent' });
let database: TestDatabase;
let admin: pg.Client;

before(async () => {
  database = await createTestDatabase();
  admin = new pg.Client(database.connection);
  await admin.connect();
});
after(async () => {
  await admin?.end();
  await database?.drop();
});

const notify = (channel = 'news') => admin.query('select pg_notify($1, $2)', [channel, '']);

async function start(t: TestContext, channels: Record<string, () => Promise<void>>): Promise<Notifications> {
  const notifications = await listen({ connection: database.connection, channels, log });
  t.after(() => notifications.close());
  return notifications;
}

const listeners = async (): Promise<number[]> => {
  const { rows } = await admin.query<{ pid: number }>(
    "select pid from pg_stat_activity where application_name = 'tiba notifications' and datname = current_database()",
  );
  return rows.map(({ pid }) => pid);
};

async function until(what: string, condition: () => boolean | Promise<boolean>, withinMs = 3_000): Promise<number> {
  const startedMs = performance.now();
  while (!(await condition())) {
    assert.ok(performance.now() - startedMs < withinMs, `not within ${withinMs} ms: ${what}`);
    await delay(2);
  }
  return performance.now() - startedMs;
}

/** For longer than a heartbeat or a new connection takes to come. */
async function always(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 400; performance.now() < endMs; await delay(5))
    assert.ok(await condition(), what);
}

suite('notifications', () => {
  test('each channel is read once at the start, and again whenever it is notified', async (t) => {
    const read = { news: 0, other: 0 };
    const notifications = await start(t, {
      news: async () => void (read.news += 1),
      other: async () => void (read.other += 1),
    });
    assert.deepEqual(read, { news: 1, other: 1 });
    assert.ok(notifications.isCurrent());
    for (let times = 2; times < 5; times += 1) {
      await notify();
      await until('it is read', () => read.news === times);
    }
    assert.equal(read.other, 1);
  });

  test('a start that cannot read fails, and leaves no connection', async () => {
    const broken = async (): Promise<void> => {
      throw new Error('unreadable');
    };
    await assert.rejects(listen({ connection: database.connection, channels: { news: broken }, log }), /unreadable/);
    await until('the connection is closed', async () => (await listeners()).length === 0);
  });

  // Regression: of two readings at once the older could end last, and what it had read stayed until the next change.
  test('readings of a channel follow one another, and one that is notified of meanwhile comes after', async (t) => {
    let stored = 0;
    let kept = -1;
    let underWay = 0;
    let readings = 0;
    const gate = Promise.withResolvers<void>();
    await start(t, {
      news: singleFlight(async () => {
        underWay += 1;
        readings += 1;
        assert.equal(underWay, 1, 'two readings at once');
        const seen = stored;
        if (readings > 1) await gate.promise;
        kept = seen;
        underWay -= 1;
      }),
    });
    stored = 1;
    await notify();
    await until('a reading is under way', () => readings === 2);
    stored = 2;
    await admin.query("select pg_notify('news', n::text) from generate_series(1, 100) as n");
    gate.resolve();
    await until('the newest is kept', () => kept === 2);
    assert.ok(readings < 10, 'what is notified of a hundred times at once is not read a hundred times');
  });

  // Regression: heartbeats went on meanwhile, and a disabled client was let in for as long as the reading took.
  test('what was heard of but could not be read yet is not current for longer than a second', async (t) => {
    let gate: PromiseWithResolvers<void> | null = null;
    const notifications = await start(t, { news: async () => gate?.promise });
    gate = Promise.withResolvers();
    const notifiedMs = performance.now();
    await notify();
    await until('it is not current', () => !notifications.isCurrent(), 2_000);
    assert.ok(performance.now() - notifiedMs < bound(1_100));
    await always('it is not current', () => !notifications.isCurrent());
    gate.resolve();
    gate = null;
    await until('it is current', () => notifications.isCurrent(), 1_000);
  });

  test('a reading that fails is made again, over a new connection', async (t) => {
    let fail = false;
    let read = 0;
    await start(t, {
      news: async () => {
        if (fail) {
          fail = false;
          throw new Error('not now');
        }
        read += 1;
      },
    });
    const [first] = await listeners();
    fail = true;
    await notify();
    await until('it is read', () => read === 2);
    await until('there is one connection', async () => (await listeners()).length === 1);
    assert.notEqual((await listeners())[0], first);
  });

  test('a lost connection is made again, and everything is read: what happened meanwhile was not heard', async (t) => {
    const read = { news: 0, other: 0 };
    const notifications = await start(t, {
      news: async () => void (read.news += 1),
      other: async () => void (read.other += 1),
    });
    for (let times = 2; times < 5; times += 1) {
      await admin.query('select pg_terminate_backend($1, 1000)', await listeners());
      await until('all is read', () => read.news === times && read.other === times);
      await until('it is current', () => notifications.isCurrent());
    }
    await notify();
    await until('it is heard again', () => read.news === 5);
    assert.equal((await listeners()).length, 1);
  });

  // Regression: a connection that was being made while it closed stayed open, and the process did not end.
  test('closing leaves no connection, also while one is being made', async () => {
    let gate: PromiseWithResolvers<void> | null = null;
    let waiting = false;
    const notifications = await listen({
      connection: database.connection,
      channels: {
        news: async () => {
          waiting = gate !== null;
          await gate?.promise;
        },
      },
      log,
    });
    gate = Promise.withResolvers();
    await admin.query('select pg_terminate_backend($1, 1000)', await listeners());
    await until('a new connection reads', () => waiting);
    await notifications.close();
    gate.resolve();
    await until('no connection is left', async () => (await listeners()).length === 0);
    await always('no connection is made', async () => (await listeners()).length === 0);
  });
});
