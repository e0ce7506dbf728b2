import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import pino from 'pino';
import { startJobWorker } from '../../apps/server/src/postgres/job-worker.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { listenOnLoopback } from '../support/http-receiver.ts';

/** Regression: "Trace: Error: …" appeared in 16 lines of standard error, between the JSON lines of the log. */
test('a job worker that is stopped while PostgreSQL does not answer writes only to the log', async (t) => {
  const { connection, drop } = await createTestDatabase();
  const locking = new pg.Client(connection);
  // Not the locking connection: within a transaction, pg_stat_activity stays as it was at its first read.
  const watching = new pg.Client(connection);
  const trace = t.mock.method(console, 'trace', () => {});
  const { connectionString = '' } = connection;
  const worker = startJobWorker({
    connection: { connectionString },
    tasks: { t: () => {} },
    log: pino({ level: 'silent' }),
  });
  t.after(async () => {
    await worker.stop();
    await Promise.all([locking.end(), watching.end()]);
    await drop();
  });
  await Promise.all([locking.connect(), watching.connect()]);

  await locking.query('begin');
  await locking.query('lock table graphile_worker._private_jobs in access exclusive mode');
  await eventually('the worker waits for an answer about jobs', async () => {
    const { rows } = await watching.query(
      `select from pg_stat_activity
        where datname = current_database() and application_name = 'tiba jobs' and wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  });
  await worker.stop();
  assert.deepEqual(
    trace.mock.calls.map((call) => String(call.arguments[0])),
    [],
  );
  await locking.query('rollback');
});

/** Regression: an unhandled rejection, "Release called on client which has already been released to the pool". */
test('a job worker that is stopped while it subscribes, and then loses its connections, stops', async (t) => {
  const { connection, drop } = await createTestDatabase();
  t.after(drop);
  const target = new pg.Client(connection);
  const subscribes = Promise.withResolvers<void>();
  const proxy = await listenOnLoopback(
    createServer((socket) => {
      const joined = connect(path.join(target.host, `.s.PGSQL.${target.port}`));
      joined.on('error', () => socket.destroy());
      socket.on('close', () => joined.destroy());
      joined.pipe(socket);
      socket.on('data', (data) => {
        // PostgreSQL no longer answers this connection.
        if (data.includes('LISTEN "jobs:insert"')) subscribes.resolve();
        else joined.write(data);
      });
    }),
  );
  t.after(proxy.close);
  const worker = startJobWorker({
    connection: { connectionString: `postgresql://tiba@127.0.0.1:${proxy.port}/${target.database}` },
    tasks: { t: () => {} },
    log: pino({ level: 'silent' }),
  });
  await subscribes.promise;
  await worker.stop();
  // An unhandled rejection comes before this, and fails the test.
  await new Promise((resolve) => setImmediate(resolve));
});
