import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmod, readFile, rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { type ArchiveFile, listArchiveFiles } from '../../apps/server/src/postgres/archive-files.ts';
import { addOwnClient, feedSuccesses } from '../callbacks/endpoints-harness.ts';
import { databaseUrlOf, type ManageOptions, manage } from '../manage/manage-process.ts';
import { type ArchiveSetup, openArchive } from './archive-setup.ts';

/** What the commands say about an archive that they cannot use: one line that says what to do, and no stack. */

const ACCOUNT = '7700112233';
const PERSON = ['--account', ACCOUNT, '--reason', 'request 17'];

let setup: ArchiveSetup;
let clientId: string;
let files: ArchiveFile[];
let environment: Record<string, string>;
before(async () => {
  setup = await openArchive();
  const { service, directory } = setup;
  ({ clientId } = await addOwnClient(service));
  for (const days of [200, 130]) {
    const ended = new Date(Date.now() - days * 86_400_000).toISOString();
    await feedSuccesses(service, 1, { client_id: clientId, account_number: ACCOUNT, processed_at: ended });
  }
  await ageEvents();
  assert.equal((await setup.archive()).files, 2);
  files = await Array.fromAsync(listArchiveFiles(service.app.database, { clientId, month: null }));
  environment = {
    DATABASE_URL: databaseUrlOf(service.database),
    TIBA_ARCHIVE_DIRECTORY: directory,
    TIBA_LEGAL_HOLD_DAYS: '30',
    TIBA_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
});
after(() => setup?.close());

const ageEvents = (): Promise<unknown> =>
  setup.sql(`update tiba.events set occurred_at = now() - interval '100 days' where client_id = $1`, [clientId]);

/** What a command that fails prints to stderr, without the line that names the database. */
async function failing(args: readonly string[], options: ManageOptions = {}): Promise<string[]> {
  const { code, stdout, stderr } = await manage(args, { environment, ...options });
  assert.deepEqual([code, stdout], [1, ''], stderr);
  return stderr.trimEnd().split('\n').slice(1);
}

/** Regression: restoring, exporting and erasing ended with the stack of an ArchiveFileError. */
test('a file that is missing: the command names it, and says what to do', async () => {
  const [file = assert.fail('no file')] = files;
  const target = path.join(setup.directory, file.path);
  const whole = await readFile(target);
  await rm(target);
  const advice = `${file.path}: it is missing: bring it back from a backup, then repeat the command; it goes on`;
  assert.deepEqual(await failing(['archive', 'restore', '--client', clientId, '--reason', 'ticket 1']), [
    'Transactions that were restored so far hold the retention for 24 hours, or until archive release.',
    advice,
  ]);
  assert.deepEqual(await failing(['person', 'export', ...PERSON]), [advice]);
  assert.equal((await failing(['person', 'erase', ...PERSON])).at(-1), advice);
  await writeFile(target, whole);
  const { code, stderr } = await manage(['person', 'erase', ...PERSON], { environment });
  assert.equal(code, 0, stderr);
});

/** The server by TCP: only the user of the test reaches its socket. */
async function openToOtherUsers(t: TestContext): Promise<string> {
  const url = new URL(databaseUrlOf(setup.service.database));
  const socket = `${url.searchParams.get('host')}/.s.PGSQL.${url.searchParams.get('port') ?? 5432}`;
  const server = net.createServer((client) => void client.pipe(net.connect(socket)).pipe(client));
  t.after(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as net.AddressInfo;
  return `postgresql://tiba@127.0.0.1:${port}${url.pathname}?sslmode=disable`;
}

/** Regression: verifying printed a stack, and `archive run` the advice to repeat it. */
test('a directory of another user: the commands say who may run them', async (t) => {
  const { directory, service } = setup;
  await feedSuccesses(service, 1, { client_id: clientId });
  await ageEvents();
  // Root may read everything.
  const other = {
    environment: { ...environment, DATABASE_URL: await openToOtherUsers(t) },
    ...(process.getuid?.() === 0 ? { uid: 65_534 } : {}),
  };
  for (const denied of [directory, path.join(directory, encodeURIComponent(clientId))]) {
    if (denied !== directory) {
      await chmod(directory, 0o755);
      await chmod(path.join(directory, 'TIBA_ARCHIVE'), 0o644);
    }
    await chmod(denied, 0);
    try {
      for (const args of [
        ['archive', 'run'],
        ['archive', 'verify'],
        ['person', 'export', ...PERSON],
      ]) {
        const [line = '', ...more] = await failing(args, other);
        assert.match(line, /EACCES.*: run this command as the user of the service, who owns the archive$/);
        assert.deepEqual(more, []);
      }
    } finally {
      await chmod(denied, 0o700);
    }
  }
});
