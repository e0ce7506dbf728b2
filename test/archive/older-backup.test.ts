import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { listDirectory } from '../../apps/server/src/archive/archive-directory.ts';
import { addOwnClient } from '../callbacks/endpoints-harness.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { daysEarlier } from '../support/database.ts';
import { statusUpdate } from '../support/requests.ts';
import { openArchive } from './archive-setup.ts';

const NUMBER = '7700118888';
const ERASE = ['person', 'erase', '--account', NUMBER, '--reason', 'request 18'] as const;
const ADOPT = ['archive', 'adopt', '--reason', 'the restore'] as const;
const PAST = new Date(Date.now() - 4_000 * 86_400_000).toISOString();

/** An archive of three transactions, one of which was erased; then a database backup from before that is restored. */
async function restoreOlderBackup(t: TestContext) {
  const setup = await openArchive();
  t.after(setup.close);
  const { service, sql, directory, archive } = setup;
  const { clientId } = await addOwnClient(service);
  const ended = { client_id: clientId, status: 'SUCCESS', created_at: PAST, processed_at: PAST };
  for (const [index, account_number] of [NUMBER, '9911111111', '9911111112'].entries()) {
    const ids = { transaction_id: `TM000000000${index}`, reference_id: `m${index}` };
    await service.feed(statusUpdate({ ...ended, ...ids, account_number }));
  }
  await sql(`update tiba.events set occurred_at = ${daysEarlier('occurred_at', 4_000)}`);
  await archive();
  const environment = {
    DATABASE_URL: databaseUrlOf(service.database),
    TIBA_ARCHIVE_DIRECTORY: directory,
    TIBA_LEGAL_HOLD_DAYS: '3650',
    TIBA_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const [before] = (await sql('select path, bytes, sha256 from tiba.archive_files')) as unknown as [BackedUp];
  assert.equal((await manage(ERASE, { environment })).code, 0);
  // Only the list of files matters here.
  const lost = await sql('update tiba.archive_files set path = $1, bytes = $2, sha256 = $3 returning path', [
    before.path,
    before.bytes,
    before.sha256,
  ]);
  assert.equal(lost.length, 1);
  const [replacement = ''] = await listDirectory(directory);
  return { ...setup, environment, missing: before.path, replacement };
}

/** Regression: every later erasure failed, and `archive verify` did not name the file that took the other's place. */
test('a backup from before an erasure: one command makes the archive whole, and erasing works', async (t) => {
  const { sql, verify, environment, missing, replacement } = await restoreOlderBackup(t);
  const { code, stderr } = await manage(['archive', 'verify'], { environment });
  assert.equal(code, 1);
  assert.ok(stderr.includes(`${missing}: it is missing`) && stderr.includes(replacement), stderr);
  assert.equal((await manage(ERASE, { environment })).code, 1);

  const adopted = await manage(ADOPT, { environment });
  assert.equal(adopted.code, 0, adopted.stderr);
  assert.match(adopted.stdout, /^1 files count in place of missing ones/);
  const report = await verify();
  assert.deepEqual([report.faults, report.unknown, report.transactions], [[], [], 3]);
  const [record] = await sql("select subject_id, reason from tiba.operator_actions where action = 'archive adopt'");
  assert.deepEqual(record, { subject_id: replacement, reason: 'the restore' });
  assert.match((await manage(ADOPT, { environment })).stdout, /^0 files/, 'repeated, it changes nothing');
  assert.equal((await manage(ERASE, { environment })).code, 0);
});

test('a file that is not certainly the one in the place of the missing one does not count', async (t) => {
  const { sql, directory, environment, missing, replacement } = await restoreOlderBackup(t);
  const target = path.join(directory, replacement);
  const sums = path.join(directory, 'SHA256SUMS');
  const [whole, checksums] = [await readFile(target), await readFile(sums)];
  const refused = async (reason: RegExp): Promise<void> => {
    const { code, stderr } = await manage(ADOPT, { environment });
    assert.equal(code, 1);
    assert.ok(stderr.includes(`${missing}: it is missing`), stderr);
    assert.match(stderr, reason);
    assert.deepEqual(await sql('select path from tiba.archive_files'), [{ path: missing }]);
  };
  await writeFile(target, whole.subarray(0, -1));
  await refused(/it was changed|unexpected end/);
  await writeFile(target, whole);
  await rm(sums);
  await refused(/SHA256SUMS does not name/);
  await writeFile(sums, checksums);
  const other = target.replace(/-\w+\.ndjson/, '-000000000000.ndjson');
  await writeFile(other, whole);
  await refused(/several files are in its place/);
  await rm(other);
  await sql('update tiba.archive_files set transactions = 4');
  await refused(/it has 3 transactions/);
  await rm(target);
  await refused(/no file took its place/);
});

interface BackedUp {
  readonly path: string;
  readonly bytes: string;
  readonly sha256: Buffer;
}
