import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { listDirectory } from '../../apps/server/src/archive/archive-directory.ts';
import { addOwnClient } from '../callbacks/endpoints-harness.ts';
import { databaseUrlOf, manage } from '../manage/manage-process.ts';
import { statusUpdate } from '../support/service.ts';
import { openArchive } from './archive-setup.ts';

const NUMBER = '7700118888';
const ERASE = ['person', 'erase', '--account', NUMBER, '--reason', 'request 18'] as const;
const PAST = new Date(Date.now() - 4_000 * 86_400_000).toISOString();

/** Regression: every later erasure failed, and `archive verify` did not name the file that took the other's place. */
test('a backup from before an erasure: what docs/backup.md says makes the archive whole, and erasing works', async (t) => {
  const { service, sql, directory, archive, verify, close } = await openArchive();
  t.after(close);
  const { clientId } = await addOwnClient(service);
  const ended = { client_id: clientId, status: 'SUCCESS', created_at: PAST, processed_at: PAST };
  for (const [index, account_number] of [NUMBER, '9911111111', '9911111112'].entries()) {
    const ids = { transaction_id: `TM000000000${index}`, reference_id: `m${index}` };
    await service.feed(statusUpdate({ ...ended, ...ids, account_number }));
  }
  await sql("update tiba.events set occurred_at = occurred_at - interval '4000 days'");
  await archive();
  const environment = {
    DATABASE_URL: databaseUrlOf(service.database),
    TIBA_ARCHIVE_DIRECTORY: directory,
    TIBA_LEGAL_HOLD_DAYS: '3650',
    TIBA_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  };
  const erase = () => manage(ERASE, { environment });
  const [before] = (await sql('select path, bytes, sha256 from tiba.archive_files')) as unknown as [BackedUp];
  assert.equal((await erase()).code, 0);
  // The backup is restored. Only the list of files matters here.
  const lost = await sql('update tiba.archive_files set path = $1, bytes = $2, sha256 = $3 returning path', [
    before.path,
    before.bytes,
    before.sha256,
  ]);
  assert.equal(lost.length, 1);

  const [replacement = ''] = await listDirectory(directory);
  const { code, stderr } = await manage(['archive', 'verify'], { environment });
  assert.equal(code, 1);
  assert.ok(stderr.includes(`${before.path}: it is missing`) && stderr.includes(replacement), stderr);
  assert.equal((await erase()).code, 1);

  const run = (command: string): string =>
    execFileSync('sh', ['-c', command], {
      cwd: directory,
      env: { ...process.env, NEW: replacement },
      encoding: 'utf8',
    });
  const [check = '', count = '', size = ''] = (await blockOf('sh')).split('\n').map((line) => line.trim());
  assert.equal(run(check), `${replacement}: OK\n`);
  const values: Record<string, string> = {
    NEW: replacement,
    BYTES: run(size).trim(),
    SHA256: run(`sha256sum "$NEW"`).split(' ')[0] ?? '',
    OLD: before.path,
    TRANSACTIONS: run(count).trim(),
  };
  const statement = (await blockOf('sql')).replaceAll(/\b[A-Z0-9]{3,}\b/g, (name) => values[name] ?? name);
  assert.deepEqual((await sql(`${statement.trim().replace(/;$/, '')} returning path`)).length, 1, statement);
  assert.deepEqual((await verify()).faults, []);
  assert.equal((await erase()).code, 0);
});

interface BackedUp {
  readonly path: string;
  readonly bytes: string;
  readonly sha256: Buffer;
}

/** The commands of this language in the section about erasures. */
async function blockOf(language: string): Promise<string> {
  const page = await readFile(new URL('../../docs/backup.md', import.meta.url), 'utf8');
  const section = page.slice(page.indexOf('### Erasures of the lost time'));
  return new RegExp(`\`\`\`${language}\\n([^\`]+)\n *\`\`\``).exec(section)?.[1] ?? assert.fail(language);
}
