import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import pg from 'pg';
import { StartError } from '../../apps/server/src/lib/start-error.ts';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { findFreePort } from '../sandbox/production-settings.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { listenOnLoopback } from '../support/http-receiver.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { startTestService } from '../support/service.ts';

/** A real PgBouncer between the service and PostgreSQL. */

/** The user ID without any rights, on every Linux. */
const UNPRIVILEGED = 65_534;
type PoolMode = 'session' | 'transaction';

suite('PgBouncer', { skip: commandIsMissing('pgbouncer') }, () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database?.drop());

  test('in session mode: the service works, and a disabled client is refused within a second', async (context) => {
    const service = await startTestService({ rails: [], database: await poolOf(context, database, 'session') });
    context.after(() => service.close());
    const statusOf = async (): Promise<number> => (await service.get('/api/v1/check-status/NONE')).status;
    assert.equal(await statusOf(), 404);
    await changeClient(service.app.database, 'alpha', 'disable');
    await eventually('the client is refused', async () => (await statusOf()) === 401);
  });

  // Regression: it started, and a client that was disabled later stayed in for good.
  test('in transaction mode: the service does not start, and says why', async (context) => {
    const pooled = await poolOf(context, database, 'transaction');
    await assert.rejects(startTestService({ rails: [], database: pooled }), (error) => {
      assert.ok(error instanceof StartError, String(error));
      assert.match(error.message, /LISTEN.*transaction mode, use its session mode or connect directly/);
      return true;
    });
  });
});

/** Regression: `enable_mergejoin` was not among them, so behind PgBouncer plans could read whole tables. */
test('docs/operating.md names each setting that connections have, for the role where PgBouncer ignores them', async () => {
  const service = await startTestService({ rails: [] });
  try {
    const given = await service.app.database.query<{ name: string }>(
      "select name from pg_settings where source = 'client' and not name = any ($1) order by name",
      [SET_BY_PROTOCOL],
    );
    assert.ok(given.length >= 4, JSON.stringify(given));
    const guide = await readFile(new URL('../../docs/operating.md', import.meta.url), 'utf8');
    const [paragraph = ''] = /^- Connect them to PostgreSQL directly[^]*?(?=^- )/m.exec(guide) ?? [];
    assert.deepEqual(
      given.filter(({ name }) => !paragraph.includes(name)),
      [],
    );
  } finally {
    await service.close();
  }
});

/** Every client sends these, and PgBouncer passes them on. */
const SET_BY_PROTOCOL = ['application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'IntervalStyle'];

/** The database behind a PgBouncer of its own, which ends with the test. */
async function poolOf(context: TestContext, database: TestDatabase, mode: PoolMode): Promise<TestDatabase> {
  const target = new pg.Client(database.connection);
  const directory = await mkdtemp(path.join(tmpdir(), 'tiba-pgbouncer-'));
  const port = await findFreePort();
  // Only this process may use the server's socket.
  const server = await listenOnLoopback(createServer((socket) => joinToSocket(socket, target)));
  context.after(server.close);
  const configuration = path.join(directory, 'pgbouncer.ini');
  await writeFile(
    configuration,
    `[databases]
${target.database} = host=127.0.0.1 port=${server.port} user=${target.user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,options
`,
  );
  // It refuses to run as root.
  await chmod(directory, 0o755);
  const asOther = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const child = spawn('pgbouncer', ['-q', configuration], { stdio: 'ignore', ...asOther });
  const ended = once(child, 'exit');
  context.after(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(directory, { recursive: true });
  });
  const { connectionString: _direct, ...timeouts } = database.connection;
  const connection = { ...timeouts, host: '127.0.0.1', port, database: target.database, user: target.user };
  await eventually('the pooler answers', async () => {
    const client = new pg.Client(connection);
    client.on('error', () => {});
    const answers = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
    return answers;
  });
  return { connection, drop: async () => {} };
}

function joinToSocket(socket: Socket, { host, port }: pg.Client): void {
  const joined = connect(path.join(host, `.s.PGSQL.${port}`));
  joined.on('error', () => socket.destroy());
  joined.on('close', () => socket.destroy());
  socket.on('close', () => joined.destroy());
  socket.pipe(joined).pipe(socket);
}
