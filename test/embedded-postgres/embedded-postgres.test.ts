import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../apps/server/src/embedded-postgres/embedded-postgres.ts';
import { listClosedDirectories } from '../../apps/server/src/embedded-postgres/launcher.ts';
import { isServerOf } from '../../apps/server/src/embedded-postgres/postmaster.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import {
  connect,
  listBeside,
  query,
  socketDirectoryOf,
  start,
  startService,
  until,
  useInitializedDirectory,
  useTestDirectory,
} from './harness.ts';

const isRoot = process.geteuid?.() === 0;
const unprivileged = { uid: 65_534, gid: 65_534 };
const firstStartMaxMs = timeLimitMs(5_000);
const filesAfterStop = ['postgres', 'postgres.lock', 'postgres.log'];

const templateParent = await mkdtemp(join(await realpath(tmpdir()), 'tiba-test-'));
const template = join(templateParent, 'postgres');
await chmod(templateParent, 0o755);

// Such as a clone in /root.
const repository = fileURLToPath(new URL('../..', import.meta.url));
const isRepositoryClosed =
  isRoot && (await listClosedDirectories([repository, dirname(process.execPath)], unprivileged)).length > 0;

// Two at a time: a test mostly waits for processes.
describe('embedded PostgreSQL', { concurrency: 2 }, () => {
  before(async () => {
    const startedMs = performance.now();
    const server = await startEmbeddedPostgres({ dataDirectory: template });
    const tookMs = performance.now() - startedMs;
    await query(server.connectionString, "CREATE TABLE kept AS SELECT 'yes' AS answer");
    await server.stop();
    assert(tookMs < firstStartMaxMs, `the first start, with initdb and durable, took ${tookMs} ms`);
  });

  after(() => rm(templateParent, { recursive: true }));

  test('data survives a stop, and a stop leaves no process and no socket', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const first = await start(testDirectory);
    assert.deepEqual(await query(first.connectionString, 'SELECT * FROM kept'), [{ answer: 'yes' }]);
    await query(first.connectionString, 'CREATE TABLE second AS SELECT 2 AS number');
    await Promise.all([first.stop(), first.stop()]);
    assert.equal(await isServerOf(testDirectory.dataDirectory, first.pid), false);
    assert.equal(existsSync(dirname(socketDirectoryOf(first.connectionString))), false);
    assert.equal(await first.exited, 'exit code 0');
    const second = await start(testDirectory);
    assert.deepEqual(await query(second.connectionString, 'SELECT number FROM second'), [{ number: 2 }]);
    assert.deepEqual(await listBeside(testDirectory.dataDirectory), filesAfterStop);
  });

  test("only the server's user and root can reach it: no TCP, a private socket directory, a private log", async (t) => {
    const server = await start(await useInitializedDirectory(t, template));
    assert.deepEqual(await query(server.connectionString, 'SHOW listen_addresses'), [{ listen_addresses: '' }]);
    const directory = await stat(socketDirectoryOf(server.connectionString));
    assert.equal(directory.mode & 0o777, 0o700);
    assert.equal((await stat(server.logPath)).mode & 0o777, 0o600);
  });

  test('text is UTF-8 and sorts the same on every machine', async (t) => {
    const server = await start(await useInitializedDirectory(t, template));
    const rows = await query(
      server.connectionString,
      `SELECT datcollate, datlocprovider, datlocale, pg_encoding_to_char(encoding) AS encoding
         FROM pg_database WHERE datname = current_database()`,
    );
    assert.deepEqual(rows, [{ datcollate: 'C', datlocprovider: 'b', datlocale: 'C.UTF-8', encoding: 'UTF8' }]);
  });

  test('the server runs in its own session, so Ctrl-C does not reach it', async (t) => {
    const server = await start(await useInitializedDirectory(t, template));
    // Signal 0 to the group with the server's id: it exists only if the server leads it.
    assert.doesNotThrow(() => process.kill(-server.pid, 0));
  });

  test("the server's log quotes no values of failing statements", async (t) => {
    const server = await start(await useInitializedDirectory(t, template));
    await query(server.connectionString, 'CREATE TABLE account (number text PRIMARY KEY)');
    await query(server.connectionString, "INSERT INTO account VALUES ('1234509876')");
    await assert.rejects(query(server.connectionString, "INSERT INTO account VALUES ('1234509876')"));
    const log = await readFile(server.logPath, 'utf8');
    assert.match(log, /duplicate key/);
    assert.doesNotMatch(log, /1234509876/);
  });

  test('a server that a killed Tiba left running is stopped, and its data is kept', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const killed = startService(testDirectory);
    const { pid, connectionString } = await killed.started;
    await query(connectionString, 'CREATE TABLE survived AS SELECT 1 AS number');
    await killed.end();
    assert.equal(await isServerOf(testDirectory.dataDirectory, pid), true);
    const server = await start(testDirectory);
    assert.equal(await isServerOf(testDirectory.dataDirectory, pid), false);
    assert.equal(existsSync(dirname(socketDirectoryOf(connectionString))), false);
    assert.deepEqual(await query(server.connectionString, 'SELECT * FROM survived'), [{ number: 1 }]);
  });

  test('a server that a killed Tiba left running is not stopped while another Tiba program uses it', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const killed = startService(testDirectory);
    const { pid, connectionString } = await killed.started;
    const client = await connect(connectionString, 'tiba manage');
    try {
      await killed.end();
      await assert.rejects(start(testDirectory), {
        code: 'IN_USE',
        message: /Another Tiba .*"tiba manage".* TIBA_DATA_DIR/,
      });
      assert.equal(await isServerOf(testDirectory.dataDirectory, pid), true);
    } finally {
      await client.end();
    }
    await start(testDirectory);
  });

  test('a second Tiba on the same data directory fails to start, and the first keeps working', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const first = await start(testDirectory);
    await assert.rejects(start(testDirectory), { code: 'IN_USE' });
    assert.equal((await startService(testDirectory).started).code, 'IN_USE');
    assert.deepEqual(await query(first.connectionString, 'SELECT * FROM kept'), [{ answer: 'yes' }]);
  });

  test('of two Tibas that start at once on a new data directory, one runs and the other fails', async (t) => {
    const testDirectory = await useTestDirectory(t);
    const services = [startService(testDirectory), startService(testDirectory)];
    const answers = await Promise.all(services.map(({ started }) => started));
    assert.deepEqual(answers.map(({ code }) => code ?? 'RUNS').sort(), ['IN_USE', 'RUNS']);
    assert.deepEqual(await listBeside(testDirectory.dataDirectory), filesAfterStop);
  });

  test('a Tiba killed while it creates the data directory leaves nothing that stops the next start', async (t) => {
    const testDirectory = await useTestDirectory(t);
    const killed = startService(testDirectory);
    await until('initdb runs', async () => {
      const work = (await listBeside(testDirectory.dataDirectory)).find((name) => name.includes('initializing'));
      return work !== undefined && (await readdir(join(testDirectory.dataDirectory, '..', work))).includes('base');
    });
    await killed.end();
    assert.equal(existsSync(testDirectory.dataDirectory), false);
    const server = await start(testDirectory);
    assert.deepEqual(await query(server.connectionString, 'SELECT 1 AS one'), [{ one: 1 }]);
    assert.deepEqual(await listBeside(testDirectory.dataDirectory), filesAfterStop);
  });

  test('a killed server recovers the committed data', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const killed = startService(testDirectory);
    const { pid, connectionString } = await killed.started;
    await query(connectionString, 'CREATE TABLE committed AS SELECT generate_series(1, 1000) AS number');
    // A process that executes a query does not notice the kill, and the next server cannot start while it runs.
    const busy = await connect(connectionString, 'test');
    const interrupted = busy
      .query('SELECT count(*) FROM generate_series(1, 100) a, generate_series(1, 10000000) b')
      .catch(() => 'interrupted');
    process.kill(pid, 'SIGKILL');
    await killed.end();
    const server = await start(testDirectory);
    assert.equal(await interrupted, 'interrupted');
    await busy.end();
    const rows = await query(server.connectionString, 'SELECT count(*)::int AS rows FROM committed');
    assert.deepEqual(rows, [{ rows: 1000 }]);
  });

  test('an unrelated process with the id of a dead server does not block the start, and is not killed', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const killed = startService(testDirectory);
    const { pid } = await killed.started;
    process.kill(pid, 'SIGKILL');
    await killed.end();
    // With the server's user: PostgreSQL itself ignores the processes of other users.
    const { uid, gid } = await stat(testDirectory.dataDirectory);
    const unrelated = spawn('sleep', ['60'], isRoot ? { uid, gid, cwd: '/' } : {});
    testDirectory.cleanups.push(() => endChild(unrelated));
    const path = join(testDirectory.dataDirectory, 'postmaster.pid');
    await writeFile(path, (await readFile(path, 'utf8')).replace(String(pid), String(unrelated.pid)));
    await start(testDirectory);
    assert.equal(unrelated.exitCode, null);
    assert.equal(unrelated.signalCode, null);
  });

  test('a server that dies is reported and restarted, with the same data and connection string', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const lines: string[] = [];
    const warnings: string[] = [];
    const server = await start(
      testDirectory,
      (line) => lines.push(line),
      (line) => warnings.push(line),
    );
    const { pid, connectionString } = server;
    for (const restarts of [1, 2]) {
      process.kill(server.pid, 'SIGKILL');
      await until(
        'it was restarted',
        async () => lines.filter((line) => line.includes('was restarted')).length === restarts,
      );
      assert.deepEqual(await query(connectionString, 'SELECT * FROM kept'), [{ answer: 'yes' }]);
    }
    assert.notEqual(server.pid, pid);
    assert.match(warnings.join('\n'), new RegExp(`process ${pid}\\) exited unexpectedly \\(SIGKILL\\); restarting it`));
    // Regression: a restart that succeeded was reported as a problem too.
    assert.ok(!warnings.some((line) => line.includes('was restarted')));
    await server.stop();
    assert.equal(await server.exited, 'exit code 0');
    assert.deepEqual(await listBeside(testDirectory.dataDirectory), filesAfterStop);
    assert.equal(existsSync(dirname(socketDirectoryOf(connectionString))), false);
  });

  test('a server that dies while it is being stopped, or is stopped before its restart, stays stopped', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const lines: string[] = [];
    for (const isReportedFirst of [false, true]) {
      const server = await start(testDirectory, (line) => lines.push(line));
      process.kill(server.pid, 'SIGKILL');
      if (isReportedFirst)
        await until('its exit is reported', async () => lines.some((line) => line.includes('exited unexpectedly')));
      await server.stop();
      await server.exited;
      assert.equal(await isServerOf(testDirectory.dataDirectory, server.pid), false);
      assert.deepEqual(await listBeside(testDirectory.dataDirectory), filesAfterStop);
      assert.equal(existsSync(dirname(socketDirectoryOf(server.connectionString))), false);
    }
  });

  test('a failed restart is retried until it succeeds', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const lines: string[] = [];
    const server = await start(testDirectory, (line) => lines.push(line));
    const conf = join(testDirectory.dataDirectory, 'postgresql.conf');
    const good = await readFile(conf);
    await writeFile(conf, 'no_such_setting = 1\n');
    process.kill(server.pid, 'SIGKILL');
    const hasLine = (text: string) => lines.some((line) => line.includes(text));
    await until('the reason is reported', async () => hasLine('no_such_setting'));
    await writeFile(conf, good);
    await until('it was restarted', async () => hasLine('was restarted'));
    assert.deepEqual(await query(server.connectionString, 'SELECT * FROM kept'), [{ answer: 'yes' }]);
  });

  test('a failed start reports the reason and leaves no lock', async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const path = join(testDirectory.dataDirectory, 'postgresql.conf');
    const good = await readFile(path);
    await writeFile(path, 'no_such_setting = 1\n');
    await assert.rejects(start(testDirectory), { code: 'START_FAILED', message: /no_such_setting/ });
    await writeFile(path, good);
    await start(testDirectory);
  });

  test('a directory with other files in it is not changed, and the start fails', async (t) => {
    const testDirectory = await useTestDirectory(t);
    await mkdir(testDirectory.dataDirectory);
    await writeFile(join(testDirectory.dataDirectory, 'letter.txt'), 'mine');
    await assert.rejects(start(testDirectory), { code: 'NOT_OUR_DATA_DIRECTORY' });
    assert.deepEqual(await readdir(testDirectory.dataDirectory), ['letter.txt']);
  });

  test('as root, the server runs as another user, who owns the data directory', { skip: !isRoot }, async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    const server = await start(testDirectory);
    const { uid } = await stat(testDirectory.dataDirectory);
    assert.notEqual(uid, 0);
    assert.equal(await readStatus(server.pid, 'Uid'), [uid, uid, uid, uid].join('\t'));
    if (!isRepositoryClosed) assert.equal(await readStatus(server.pid, 'CapEff'), '0000000000000000');
  });

  test('as root, in a directory closed to others, the server has the capability to read and no other', async (t) => {
    if (!(await canEnterClosedDirectories())) return t.skip('needs root with CAP_DAC_READ_SEARCH and CAP_SETPCAP');
    const testDirectory = await useTestDirectory(t, 0o700);
    const server = await start(testDirectory);
    assert.deepEqual(await query(server.connectionString, 'SELECT 1 AS one'), [{ one: 1 }]);
    for (const set of ['CapEff', 'CapPrm', 'CapAmb']) {
      assert.equal(await readStatus(server.pid, set), '0000000000000004');
    }
    assert.equal(await readStatus(server.pid, 'NoNewPrivs'), '1');
    // Even other processes of the server's user must not log in to a server that can read every file.
    const outer = await stat(dirname(socketDirectoryOf(server.connectionString)));
    assert.deepEqual({ uid: outer.uid, mode: outer.mode & 0o777 }, { uid: 0, mode: 0o700 });
  });

  test('an ordinary user can start it, stop it, and start it after a kill', {
    skip: isRepositoryClosed,
  }, async (t) => {
    const user = isRoot ? unprivileged : {};
    const testDirectory = await useTestDirectory(t);
    if (isRoot) await chown(dirname(testDirectory.dataDirectory), unprivileged.uid, unprivileged.gid);
    const first = startService(testDirectory, user);
    await query((await first.started).connectionString, 'CREATE TABLE mine AS SELECT 1 AS number');
    await first.end('SIGTERM');
    const second = startService(testDirectory, user);
    await second.started;
    await second.end('SIGKILL');
    const third = startService(testDirectory, user);
    const { connectionString } = await third.started;
    assert.deepEqual(await query(connectionString, 'SELECT * FROM mine'), [{ number: 1 }]);
    await third.end('SIGTERM');
    assert.equal(third.child.exitCode, 0);
    assert.equal(existsSync(dirname(socketDirectoryOf(connectionString))), false);
    if (!isRoot) return;
    // When root starts it afterwards, it still runs as that user.
    const { pid } = await start(testDirectory);
    assert.match(await readStatus(pid, 'Uid'), /^65534\b/);
  });

  test('the data directory of another user is an error', { skip: !isRoot || isRepositoryClosed }, async (t) => {
    const testDirectory = await useInitializedDirectory(t, template);
    await (await start(testDirectory)).stop();
    await chown(dirname(testDirectory.dataDirectory), unprivileged.uid, unprivileged.gid);
    await rm(`${testDirectory.dataDirectory}.lock`);
    await chown(testDirectory.dataDirectory, 1, 1);
    assert.equal((await startService(testDirectory, unprivileged).started).code, 'NO_ACCESS');
  });
});

/** A field of /proc/<pid>/status (proc(5)). */
async function readStatus(pid: number | 'self', field: string): Promise<string> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return new RegExp(`^${field}:\\t(.*)$`, 'm').exec(status)?.[1] ?? '';
}

async function canEnterClosedDirectories(): Promise<boolean> {
  if (!isRoot || process.platform !== 'linux') return false;
  return (BigInt(`0x${await readStatus('self', 'CapEff')}`) & 0x104n) === 0x104n;
}

async function endChild(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  if (child.kill()) await exited;
}
