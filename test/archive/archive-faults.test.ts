import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { inspect } from 'node:util';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { listDirectory, readChecksums } from '../../apps/server/src/archive/archive-directory.ts';
import { removeUncounted } from '../../apps/server/src/archive/archive-transactions.ts';
import { restoreArchive } from '../../apps/server/src/archive/restore-archive.ts';
import { createEraser } from '../../apps/server/src/domain/eraser.ts';
import { findInFile } from '../../apps/server/src/personal-data/person-records.ts';
import { listArchiveFiles } from '../../apps/server/src/postgres/archive-files.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { addOwnClient, feedSuccesses } from '../callbacks/endpoints-harness.ts';
import type { TestService } from '../support/service.ts';
import { type ArchiveSetup, openArchive } from './archive-setup.ts';
import { HELD_LEASE } from './held-lease.ts';

let setup: ArchiveSetup;
let service: TestService;
let sql: ArchiveSetup['sql'];
let directory: string;
let run: ArchiveSetup['archive'];
before(async () => {
  setup = await openArchive();
  ({ service, sql, directory, archive: run } = setup);
});
after(() => setup?.close());

/** A client with this many transactions that can be archived. */
async function addOldClient(count: number): Promise<string> {
  const { clientId } = await addOwnClient(service);
  await feedSuccesses(service, count, { client_id: clientId });
  await sql(`update tiba.events set occurred_at = now() - interval '100 days' where client_id = $1`, [clientId]);
  return clientId;
}

test('a file is never counted and deleted: not when its process hung while the next one cleaned up', async () => {
  const { database } = service.app;
  await run();
  await addOldClient(3);
  const listed = Promise.withResolvers<void>();
  const completed = Promise.withResolvers<void>();
  const cleaning: Promise<void>[] = [];
  const cleaner: Database = {
    ...database,
    async query(text: string, values?: readonly unknown[], name?: string) {
      const rows = await database.query(text, values, name);
      listed.resolve();
      await completed.promise;
      return rows as never[];
    },
  };
  const hung: Database = {
    ...database,
    async transaction(work, options) {
      cleaning.push(removeUncounted(cleaner, directory));
      await listed.promise;
      const result = await database.transaction(work, options);
      completed.resolve();
      return result;
    },
  };
  assert.equal((await run({ database: hung })).files, 0);
  await Promise.all(cleaning);
  assert.deepEqual((await setup.verify()).faults, []);
  assert.equal((await run()).transactions, 3);
});

test('files of a process that lost its lease do not count', async () => {
  await run();
  await addOldClient(2);
  const before = await listDirectory(directory);
  const lost = await run({ lease: { ...HELD_LEASE, isHeld: () => Promise.resolve(false) } });
  assert.equal(lost.files, 0);
  assert.deepEqual(await listDirectory(directory), before);
  assert.equal((await run()).transactions, 2);
});

/** Regression: the next holder found that list, left it, and `archive adopt` did not know the file that it counted. */
test('a process that lost its lease writes no list of checksums beside the next one', async () => {
  const { database } = service.app;
  await run();
  await addOldClient(2);
  const counting = Promise.withResolvers<void>();
  const lostEnded = Promise.withResolvers<void>();
  const slow: Database = {
    ...database,
    async transaction(work, options) {
      counting.resolve();
      await lostEnded.promise;
      return database.transaction(work, options);
    },
  };
  const next: ReturnType<typeof run>[] = [];
  let holds = 0;
  const hold = async (): Promise<boolean> => {
    holds += 1;
    if (holds === 2) {
      next.push(run({ database: slow }));
      await counting.promise;
    }
    return holds === 1;
  };
  assert.equal((await run({ lease: { hold, isHeld: () => Promise.resolve(false) } })).isComplete, false);
  lostEnded.resolve();
  assert.equal((await next[0])?.transactions, 2);
  const listed = [...(await readChecksums(directory)).keys()].filter((file) => file !== '');
  assert.deepEqual(listed.sort(), await listDirectory(directory));
});

test('when the archive cannot even begin, the retention waits', async () => {
  const clientId = await addOldClient(1);
  await sql('update tiba.event_sequences set archived_up_to = null where client_id = $1', [clientId]);
  await assert.rejects(run({ directory: path.join(directory, 'away') }), /does not exist/);
  const position = 'select archived_up_to is not null as waits from tiba.event_sequences where client_id = $1';
  assert.deepEqual(await sql(position, [clientId]), [{ waits: true }]);
  assert.equal((await run()).transactions, 1);
});

test('an empty directory, as of a disk that is not mounted, is no archive', async () => {
  const mountPoint = await mkdtemp(path.join(tmpdir(), 'tiba-archive-'));
  await addOldClient(1);
  await assert.rejects(run({ directory: mountPoint }), /its disk may not be mounted/);
  assert.deepEqual(await readdir(mountPoint), []);
  await writeFile(path.join(mountPoint, 'TIBA_ARCHIVE'), '00000000-0000-0000-0000-000000000000');
  await assert.rejects(run({ directory: mountPoint }), /another installation/);
  await rm(mountPoint, { recursive: true });
  assert.equal((await run()).transactions, 1);
});

/** Regression: a range of 20,000 was one statement, which of transactions that no memory holds can take too long. */
test('events are read a thousand at a time, however large a range is', async () => {
  const clientId = await addOldClient(1);
  await sql(
    `insert into tiba.events (client_id, sequence, occurred_at, version, subject_id, kind, data)
     select $1, sequence, now() - interval '100 days', 1, 'BCA', 'bank.down', '{}'
       from generate_series(2, 2500) as sequence`,
    [clientId],
  );
  const { database } = service.app;
  const sizes: number[] = [];
  const watched: Database = {
    ...database,
    async query(text: string, values?: readonly unknown[], name?: string) {
      const rows = await database.query(text, values, name);
      if (text.includes('from tiba.events e where e.client_id = $1 and e.sequence > $2')) sizes.push(rows.length);
      return rows as never[];
    },
  };
  const { failedClients } = await run({ database: watched });
  assert.equal(failedClients, 0);
  assert.equal(
    sizes.reduce((sum, size) => sum + size, 0),
    2_500,
  );
  assert.equal(Math.max(...sizes), 1_000);
  const [row] = await sql('select archived_up_to::int from tiba.event_sequences where client_id = $1', [clientId]);
  assert.deepEqual(row, { archived_up_to: 2_500 });
});

test('a client that cannot be archived does not stop the others', async () => {
  const { database } = service.app;
  await run();
  const [bad, good] = [await addOldClient(1), await addOldClient(2)].sort();
  const broken: Database = {
    ...database,
    query(text: string, values?: readonly unknown[], name?: string) {
      if (text.includes('from tiba.events e where e.client_id') && values?.[0] === bad) throw new Error('damaged');
      return database.query(text, values, name);
    },
  };
  const failed: string[] = [];
  const { failedClients } = await run({ database: broken, onClientError: (clientId) => failed.push(clientId) });
  assert.deepEqual([failed, failedClients], [[bad], 1]);
  const archived = await Array.fromAsync(listArchiveFiles(database, { clientId: good ?? '', month: null }));
  assert.ok(archived.length > 0);
  const sums = await readFile(path.join(directory, 'SHA256SUMS'), 'utf8');
  assert.equal(sums.trimEnd().split('\n').length, (await listDirectory(directory)).length);
  await run();
});

test('a restore stops when another process takes the lease', async () => {
  const clientId = await addOldClient(1);
  await run();
  let holds = 0;
  const lease = { ...HELD_LEASE, hold: () => Promise.resolve(++holds < 2) };
  const restored = restoreArchive(
    service.app.database,
    directory,
    { clientId, month: null },
    { holdHours: 1, lease, onFile: () => {} },
  );
  await assert.rejects(restored, /another process archives/);
});

/** Regression: the message of the parser quoted the text of the file, and reached the screen and the log. */
test('what is said about a damaged file names the line, and holds nothing of its content', async () => {
  const { database } = service.app;
  const clientId = await addOldClient(3);
  await run();
  const [file = assert.fail('no file')] = await Array.fromAsync(listArchiveFiles(database, { clientId, month: null }));
  const target = path.join(directory, file.path);
  const whole = await readFile(target);
  const lines = zstdDecompressSync(whole).toString().split('\n');
  const { account_number: number, account_name: name } = (
    JSON.parse(lines[1] ?? '') as { transaction: { account_number: string; account_name: string } }
  ).transaction;
  const damage = (field: string): Promise<void> => {
    const changed = lines.with(1, (lines[1] ?? '').replace(`"${field}":`, `"${field}":x`));
    return writeFile(target, zstdCompressSync(changed.join('\n')));
  };
  const numbers = createEraser([number]);
  const person = { accountNumbers: [number], accountHashes: [], hash: '', isAt: () => true, numbers };
  const restored = { holdHours: 1, lease: HELD_LEASE, onFile: () => {} };
  try {
    for (const field of ['account_number', 'account_name']) {
      await damage(field);
      const found: unknown[] = (await setup.verify()).faults.slice();
      found.push(
        await restoreArchive(database, directory, { clientId, month: null }, restored).catch((error: unknown) => error),
        await findInFile(directory, file, person).catch((error: unknown) => error),
      );
      assert.equal(found.length, 3);
      for (const each of found) {
        const message = inspect(each, { depth: 10 });
        assert.ok(message.includes(`${file.path}: line 2 is not JSON`), message);
        for (const secret of [number, name, number.slice(0, 8), name.slice(0, 5)]) {
          assert.ok(!message.includes(secret), message);
        }
      }
    }
  } finally {
    await writeFile(target, whole);
  }
  assert.deepEqual((await setup.verify()).faults, []);
});
