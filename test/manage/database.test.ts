import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import pino from 'pino';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { migrate } from '../../apps/server/src/postgres/migrate.ts';
import { start, useTestDirectory } from '../embedded-postgres/harness.ts';
import { type ManageEnd, manage, useDatabaseUrl } from './manage-process.ts';

/** Longer than a request waits for a connection. */
const BUSY_MS = 1_500;

function assertNoDatabase({ code, stdout, stderr }: ManageEnd, dataDirectory: string): void {
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /^\s+at /m);
  assert.match(stderr, /^DATABASE_URL is missing, and there is no database in (\S+) \(TIBA_DATA_DIR\)/);
  assert.ok(stderr.includes(path.join(dataDirectory, 'postgres')), stderr);
}

/**
 * Regression: during an incident, `client disable` created a new database and answered that the client does not exist.
 */
describe('manage never creates a database', { concurrency: 2 }, () => {
  it('without settings, in a directory without a sandbox', async (t) => {
    const directory = path.dirname((await useTestDirectory(t)).dataDirectory);
    assertNoDatabase(await manage(['client', 'disable', 'shop'], { cwd: directory }), path.join(directory, '.tiba'));
    assert.deepEqual(await readdir(directory), []);
  });

  it('in a TIBA_DATA_DIR that is empty, holds an empty directory, or does not exist', async (t) => {
    const directory = path.dirname((await useTestDirectory(t)).dataDirectory);
    const environment = { TIBA_DATA_DIR: directory };
    assertNoDatabase(await manage(['client', 'list'], { environment }), directory);
    await mkdir(path.join(directory, 'postgres'));
    assertNoDatabase(await manage(['client', 'list'], { environment }), directory);
    assert.deepEqual(await readdir(directory, { recursive: true }), ['postgres']);
    const missing = path.join(directory, 'missing');
    assertNoDatabase(await manage(['client', 'list'], { environment: { TIBA_DATA_DIR: missing } }), missing);
    assert.deepEqual(await readdir(directory), ['postgres']);
  });
});

describe('manage prints which database it uses', { concurrency: 2 }, () => {
  it('the one at DATABASE_URL, without the password', async (t) => {
    const url = await useDatabaseUrl(t);
    const { code, stdout, stderr } = await manage(['client', 'list'], { environment: { DATABASE_URL: url } });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^There are no clients yet/);
    assert.match(stderr, /^database: postgresql:\/\/\/test_\w+\?user=tiba&host=\S+\n$/);
    assert.doesNotMatch(stderr, /hunter2/);
  });

  // Regression: `npm run migrate` on a busy machine gave up after a second, as a request does.
  it('one that is busy: it waits for seconds', async (t) => {
    const url = new URL(await useDatabaseUrl(t));
    const socket = `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? 5432}`;
    const server = net.createServer((client) => {
      const forward = (): void => void client.pipe(net.connect(socket)).pipe(client);
      setTimeout(forward, BUSY_MS);
    });
    t.after(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as net.AddressInfo;
    const environment = { DATABASE_URL: `postgresql://tiba@127.0.0.1:${port}${url.pathname}?sslmode=disable` };
    const { code, stderr } = await manage(['client', 'list'], { environment });
    assert.equal(code, 0, stderr);
  });

  it('the embedded one, while a service runs on it and after it has stopped, also by default', async (t) => {
    const testDirectory = await useTestDirectory(t);
    const directory = path.dirname(testDirectory.dataDirectory);
    const defaultDirectory = { ...testDirectory, dataDirectory: path.join(directory, '.tiba', 'postgres') };
    await mkdir(path.dirname(defaultDirectory.dataDirectory));
    const server = await start(defaultDirectory);
    await migrateTo(server.connectionString);
    const create = ['client', 'create', 'shop', '--scope', 'status:read'];
    const created = await manage(create, { cwd: directory });
    assert.equal(created.code, 0, created.stderr);
    assert.equal(created.stderr, `database: ${defaultDirectory.dataDirectory}\n`);
    await server.stop();
    const { code, stdout, stderr } = await manage(['client', 'list'], { cwd: directory });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^shop\t/);
  });
});

/** As the service does when it starts on an embedded PostgreSQL. */
async function migrateTo(connectionString: string): Promise<void> {
  const database = openDatabase({
    connection: { connectionString },
    connectionsMax: 1,
    log: pino({ level: 'silent' }),
  });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
}

/** Regression: each command said to check with `client list` whether the change was made. */
it('when the database goes away meanwhile, each command says what to do then', async (t) => {
  const url = new URL(await useDatabaseUrl(t));
  const socket = `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? 5432}`;
  const archive = path.dirname((await useTestDirectory(t)).dataDirectory);
  /** What the command prints last, when the database goes away at a statement with this text. */
  async function lastLine(args: readonly string[], statement: string): Promise<string> {
    const server = net.createServer((client) => {
      const upstream = net.connect(socket);
      upstream.on('error', () => {}).pipe(client.on('error', () => {}));
      client.on('data', (chunk) => {
        if (!chunk.includes(statement)) return void upstream.write(chunk);
        server.close();
        upstream.destroy();
        return client.destroy();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as net.AddressInfo;
    const { code, stderr } = await manage(args, {
      environment: {
        DATABASE_URL: `postgresql://tiba@127.0.0.1:${port}${url.pathname}?sslmode=disable`,
        TIBA_ARCHIVE_DIRECTORY: archive,
      },
    });
    server.close();
    assert.equal(code, 1);
    return stderr.trimEnd().split('\n').at(-1) ?? '';
  }
  assert.match(await lastLine(['client', 'list'], 'from tiba.clients'), /, repeat the command$/);
  assert.match(
    await lastLine(['client', 'create', 'shop', '--scope', 'status:read'], 'insert into tiba.clients'),
    /, check with client list whether the change was made$/,
  );
  assert.match(await lastLine(['archive', 'run'], 'tiba.event_sequences'), /, repeat the command; it goes on$/);
});
