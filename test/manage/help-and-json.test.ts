import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import pino from 'pino';
import { createProgram, currentActor } from '../../apps/server/src/cli/manage.ts';
import type { CommandResult, Options } from '../../apps/server/src/cli/manage-command.ts';
import { COMMANDS } from '../../apps/server/src/cli/manage-commands.ts';
import { readSettings, type Settings } from '../../apps/server/src/config/config.ts';
import { openDatabase } from '../../apps/server/src/postgres/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { databaseUrlOf, manage } from './manage-process.ts';

test('--help explains each command, its options and --json', () => {
  const program = createProgram(async () => undefined);
  for (const [name, { summary, options }] of Object.entries(COMMANDS)) {
    const command = name.split(' ').reduce((parent, word) => {
      const found = parent.commands.find((each) => each.name() === word);
      return found ?? assert.fail(`there is no command ${name}`);
    }, program);
    assert.equal(command.summary(), summary);
    const help = command.helpInformation();
    for (const option of ['json', 'help', ...options]) assert.match(help, new RegExp(`--${option}\\b`), name);
  }
});

test('the actor of a change is the user, or its number where it has no name', () => {
  assert.match(currentActor(), /^(?:user|uid):\S+$/);
  function withoutEntry(): never {
    throw new Error('ENOENT: no such file or directory, uv_os_get_passwd');
  }
  assert.equal(currentActor(withoutEntry), `uid:${process.getuid?.()}`);
});

type Run = (name: string, options?: Options, changes?: Partial<Settings>) => Promise<Record<string, unknown>>;

/** Regression: the link had the port of the settings, also when the running sandbox listens at another one. */
async function runOfLinks(run: Run, folder: string): Promise<void> {
  const linkFor = async (role: string): Promise<string> => String((await run('session link', { role }))['link']);
  assert.match(await linkFor('viewer'), /^http:\/\/127\.0\.0\.1:8081\/operator\/login\/link\?code=/);
  await writeFile(path.join(folder, 'sandbox.json'), JSON.stringify({ operator_url: 'http://127.0.0.1:45001' }));
  assert.match(await linkFor('viewer'), /^http:\/\/127\.0\.0\.1:45001\/operator\/login\/link\?code=/);
}

async function runOfSnap(run: Run, keyFile: string): Promise<void> {
  assert.deepEqual(await run('client snap'), { client_id: 'shop', snap: null });
  const { key_id: keyId } = await run('client snap-key', { add: keyFile });
  assert.match(String((await run('client snap-secret'))['snap_secret']), /\S{20}/);
  const { snap } = await run('client snap');
  assert.deepEqual(
    [(snap as Record<string, unknown>)['key_ids'], (snap as Record<string, unknown>)['has_secret']],
    [[keyId], true],
  );
  assert.deepEqual(await run('client snap-end'), { client_id: 'shop', ended: true });
}

async function runOfStoredData(run: Run): Promise<void> {
  assert.equal((await run('archive run'))['files'], 0);
  assert.deepEqual(await run('archive list'), { files: [] });
  assert.equal((await run('archive verify'))['files'], 0);
  await assert.rejects(run('archive restore', { client: 'shop' }), /the archive has no such files/);
  assert.deepEqual(await run('archive adopt'), { files: 0 });
  assert.deepEqual(await run('archive release'), { files: 0 });
  // Regression: it ended, and the next process that had the directory began the archive again.
  await assert.rejects(run('archive end'), /TIBA_ARCHIVE_DIRECTORY is set\. Unset it in all processes/);
  assert.equal((await run('archive end', {}, { archiveDirectory: null }))['clients'], 1);
  const request = { account: '1234567890', reason: 'request 17' };
  // test/personal-data has what they print.
  await assert.rejects(run('person export', request), /no service has used this database yet/);
  await assert.rejects(run('person erase', request), /no service has used this database yet/);
}

test('every command has one document for --json and a text for people', async (t) => {
  const testDatabase = await createTestDatabase();
  t.after(testDatabase.drop);
  const log = pino({ level: 'silent' });
  const database = openDatabase({ connection: testDatabase.connection, connectionsMax: 1, log });
  t.after(() => database.close());
  const folder = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
  t.after(() => rm(folder, { recursive: true }));
  const keyFile = path.join(folder, 'key.pem');
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(keyFile, publicKey.export({ type: 'spki', format: 'pem' }));
  const settings = readSettings('manage', {
    TIBA_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    TIBA_ARCHIVE_DIRECTORY: folder,
    TIBA_DATA_DIR: folder,
  });
  const context = { actor: { actor: 'user:test', origin: 'test' }, print() {} };
  const left = new Set(Object.keys(COMMANDS));
  const run: Run = async (name, options = {}, changes = {}) => {
    left.delete(name);
    const command = COMMANDS[name] ?? assert.fail(`there is no command ${name}`);
    const given = { ...settings, ...changes };
    const { document, text }: CommandResult = await command.run(database, 'shop', options, given, context);
    assert.notEqual(text, '');
    return JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
  };

  assert.equal((await run('secret-key'))['key_id'], null);
  const created = await run('client create', { scope: 'status:read' });
  assert.deepEqual([created['client_id'], String(created['client_secret']).length > 20], ['shop', true]);
  const shop = {
    client_id: 'shop',
    name: 'shop',
    scopes: ['status:read'],
    limits: { 'check-status': null, 'check-account': null, 'accounts-per-day': null },
    trusted: false,
    disabled: false,
  };
  assert.deepEqual(await run('client list'), { clients: [shop] });
  const limits = { ...shop.limits, 'check-status': 600 };
  assert.deepEqual(await run('client limits', { 'check-status': '600' }), { ...shop, limits });
  assert.deepEqual(await run('client scopes', { scope: 'events:read' }), {
    client_id: 'shop',
    scopes: ['events:read'],
  });
  const renewed = (await run('client new-secret'))['client_secret'];
  const added = (await run('client add-secret'))['client_secret'];
  assert.equal(new Set([created['client_secret'], renewed, added]).size, 3);
  const secrets = (await run('client secrets'))['secrets'] as { secret_id: string }[];
  assert.equal(secrets.length, 2);
  const retired = { secret: String(secrets[0]?.secret_id) };
  assert.deepEqual(await run('client retire-secret', retired), { client_id: 'shop', secret_id: retired.secret });
  assert.deepEqual(await run('client trust'), { client_id: 'shop', trusted: true });
  assert.deepEqual(await run('client distrust'), { client_id: 'shop', trusted: false });
  assert.deepEqual(await run('client disable'), { client_id: 'shop', disabled: true });
  assert.deepEqual(await run('client enable'), { client_id: 'shop', disabled: false });
  assert.deepEqual(await run('client revoke-tokens'), { client_id: 'shop', tokens_revoked: true });
  await runOfSnap(run, keyFile);
  assert.equal((await run('keys rotate'))['algorithm'], 'EdDSA');
  assert.deepEqual(await run('session list'), { sessions: [] });
  assert.deepEqual(await run('session revoke', { person: 'siti' }), { revoked: 0, outdated_proposals: [] });
  await database.query("insert into tiba.installation (environment) values ('sandbox')");
  await runOfLinks(run, folder);
  assert.equal((await run('restored'))['cancelled_validations'], 0);
  assert.equal((await run('audit verify'))['records'], 0);
  await runOfStoredData(run);
  assert.deepEqual([...left], [], 'a command has no assertion here');
});

test('the result and an error are one document each with --json', async (t) => {
  const testDatabase = await createTestDatabase();
  t.after(testDatabase.drop);
  const environment = { DATABASE_URL: databaseUrlOf(testDatabase) };
  const [listed, wrong] = await Promise.all([
    manage(['--json', 'client', 'list'], { environment }),
    manage(['client', 'limits', 'none', '--json'], { environment }),
  ]);
  assert.deepEqual([listed.code, JSON.parse(listed.stdout)], [0, { clients: [] }]);
  assert.equal(wrong.code, 1);
  assert.deepEqual(JSON.parse(wrong.stderr.split('\n').find((line) => line.startsWith('{')) ?? ''), {
    level: 'error',
    message: 'client none does not exist: list them with client list',
  });
});
