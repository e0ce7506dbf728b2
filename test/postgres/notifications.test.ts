import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import pino from 'pino';
import { singleFlight } from '../../apps/server/src/lib/single-flight.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createNotificationProof } from '../../apps/server/src/postgres/notification-proof.ts';
import { listen, type Notifications } from '../../apps/server/src/postgres/notifications.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

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

const notify = (channel = 'changes') => admin.query('select pg_notify($1, $2)', [channel, '']);

async function start(
  t: TestContext,
  channels: Record<string, () => Promise<void>>,
  usedLog = log,
): Promise<Notifications> {
  const notifications = await listen({ connection: database.connection, channels, log: usedLog });
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
  await eventually(what, condition, withinMs);
  return performance.now() - startedMs;
}

/** Holds for longer than a heartbeat takes, or a new connection. */
async function always(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 400; performance.now() < endMs; await delay(5))
    assert.ok(await condition(), what);
}

suite('notifications', () => {
  test('each channel is read once at the start, and again after each notification', async (t) => {
    const read = { changes: 0, other: 0 };
    const notifications = await start(t, {
      changes: async () => void (read.changes += 1),
      other: async () => void (read.other += 1),
    });
    assert.deepEqual(read, { changes: 1, other: 1 });
    assert.ok(notifications.isCurrent());
    for (let times = 2; times < 5; times += 1) {
      await notify();
      await until('the channel is read', () => read.changes === times);
    }
    assert.equal(read.other, 1);
  });

  test('a start whose read fails rejects, and leaves no connection', async () => {
    const broken = async (): Promise<void> => {
      throw new Error('unreadable');
    };
    await assert.rejects(listen({ connection: database.connection, channels: { changes: broken }, log }), /unreadable/);
    await until('the connection is closed', async () => (await listeners()).length === 0);
  });

  // Regression: of two reads at once the older could end last, and its result stayed until the next change.
  test('reads of a channel run one after another, and a notification during a read causes another read', async (t) => {
    let stored = 0;
    let cached = -1;
    let running = 0;
    let reads = 0;
    const blockedRead = Promise.withResolvers<void>();
    await start(t, {
      changes: singleFlight(async () => {
        running += 1;
        reads += 1;
        assert.equal(running, 1, 'two reads at once');
        const value = stored;
        if (reads > 1) await blockedRead.promise;
        cached = value;
        running -= 1;
      }),
    });
    stored = 1;
    await notify();
    await until('a read is running', () => reads === 2);
    stored = 2;
    await admin.query("select pg_notify('changes', n::text) from generate_series(1, 100) as n");
    blockedRead.resolve();
    await until('the newest value is cached', () => cached === 2);
    assert.ok(reads < 10, 'a hundred notifications at once do not cause a hundred reads');
  });

  // Regression: heartbeats continued meanwhile, and a disabled client was accepted for as long as the read took.
  test('while the read after a notification takes long, isCurrent is true for at most a second', async (t) => {
    let blockedRead: PromiseWithResolvers<void> | null = null;
    const notifications = await start(t, { changes: async () => blockedRead?.promise });
    blockedRead = Promise.withResolvers();
    const notifiedMs = performance.now();
    await notify();
    await until('it is not current', () => !notifications.isCurrent(), 2_000);
    assert.ok(performance.now() - notifiedMs < timeLimitMs(1_100));
    await always('it is not current', () => !notifications.isCurrent());
    blockedRead.resolve();
    blockedRead = null;
    await until('it is current', () => notifications.isCurrent(), 1_000);
  });

  test('a read that fails is repeated, over a new connection', async (t) => {
    let fail = false;
    let read = 0;
    await start(t, {
      changes: async () => {
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
    await until('the channel is read', () => read === 2);
    await until('there is one connection', async () => (await listeners()).length === 1);
    assert.notEqual((await listeners())[0], first);
  });

  test('after a lost connection it reconnects and reads every channel, because notifications were lost', async (t) => {
    const read = { changes: 0, other: 0 };
    const notifications = await start(t, {
      changes: async () => void (read.changes += 1),
      other: async () => void (read.other += 1),
    });
    for (let times = 2; times < 5; times += 1) {
      await admin.query('select pg_terminate_backend($1::int, 1000)', await listeners());
      await until('every channel is read', () => read.changes === times && read.other === times);
      await until('it is current', () => notifications.isCurrent());
    }
    await notify();
    await until('notifications arrive again', () => read.changes === 5);
    assert.equal((await listeners()).length, 1);
  });

  // Regression: the log had the end of the connection only, so it did not say when requests were answered again.
  test('the log says when the connection is lost, and when it is back', async (t) => {
    const messages: string[] = [];
    const collecting = pino({}, { write: (line) => void messages.push(String(JSON.parse(line).msg)) });
    const notifications = await start(t, { changes: async () => {} }, collecting);
    assert.deepEqual(messages, [], 'the first connection is not news');
    await admin.query('select pg_terminate_backend($1::int, 1000)', await listeners());
    await until('both are logged', () => messages.length === 2);
    await until('it is current', () => notifications.isCurrent());
    assert.deepEqual(messages, [
      'postgresql LISTEN connection lost; requests are refused if it stays lost for a second; will reconnect',
      'postgresql LISTEN connection restored',
    ]);
  });

  // Regression: a connection that was being opened during `close` stayed open, and the process did not end.
  test('closing leaves no connection, not even one that is being opened', async () => {
    let blockedRead: PromiseWithResolvers<void> | null = null;
    let waiting = false;
    const notifications = await listen({
      connection: database.connection,
      channels: {
        changes: async () => {
          waiting = blockedRead !== null;
          await blockedRead?.promise;
        },
      },
      log,
    });
    blockedRead = Promise.withResolvers();
    await admin.query('select pg_terminate_backend($1::int, 1000)', await listeners());
    await until('a new connection reads', () => waiting);
    await notifications.close();
    blockedRead.resolve();
    await until('no connection is left', async () => (await listeners()).length === 0);
    await always('no connection is opened', async () => (await listeners()).length === 0);
  });
});

suite('the proof that notifications arrive', () => {
  async function startProof(t: TestContext) {
    const pool = openDatabase({ connection: database.connection, connectionsMax: 1, log });
    t.after(() => pool.close());
    const proof = createNotificationProof(pool);
    const notifications = await listen({
      connection: database.connection,
      channels: {},
      handlers: { [proof.channel]: proof.handler },
      log,
    });
    t.after(() => notifications.close());
    return { proof, notifications };
  }

  test('succeeds while they arrive', async (t) => {
    const { proof } = await startProof(t);
    assert.equal(await proof.prove(), true);
  });

  // Regression: a start that lost all connections to PostgreSQL at this moment ended with code 13.
  test('keeps the process alive until it has succeeded or failed', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    const proof = createNotificationProof({ query: async () => [] });
    const before = timers();
    const proving = proof.prove();
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(timers(), before + 1);
    proof.handler.onNotification('');
    assert.equal(await proving, true);
    assert.equal(timers(), before);
  });

  // Regression: the process refused all requests for ten seconds after a connection that was lost at the wrong moment.
  test('says nothing when the listening connection is replaced meanwhile', async (t) => {
    const { proof } = await startProof(t);
    const lost = { ...proof.handler, onNotification: () => {} };
    Object.assign(proof.handler, lost);
    const proving = proof.prove();
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'tiba notifications' and datname = current_database()`,
    );
    assert.equal(await proving, null);
  });
});
