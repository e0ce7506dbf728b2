import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { databaseUrlOf } from '../manage/manage-process.ts';
import { writeProductionSettings } from '../sandbox/production-settings.ts';
import { createEmptyTestDatabase, createTestDatabase, querySql } from '../support/database.ts';
import { INHERITED } from '../support/suite-environment.ts';

const SERVER = fileURLToPath(new URL('../../apps/server/src/main.ts', import.meta.url));
const BANK = fileURLToPath(new URL('../../apps/bank/src/main.ts', import.meta.url));
const SECRET_KEY = Buffer.alloc(32, 1).toString('base64');

interface End {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program until it ends, with no setting of this process's environment. */
async function run(program: string, args: readonly string[], env: Record<string, string>): Promise<End> {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...env, ...INHERITED },
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code, stdout, stderr };
}

/** The message is for a person: no stack trace, and nothing on standard output, where the log lines go. */
function assertFailedStart({ code, stdout, stderr }: End): void {
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /^\s+at /m);
}

describe('a process that cannot start', { concurrency: 2 }, () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-refusal-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  /** Regression: the faults of the rails file were reported only when the settings were right. */
  it('in production reports the faults of the rails file together with those of the settings', async () => {
    const end = await run(SERVER, ['serve'], { TIBA_PORT: 'http', TIBA_RAILS_FILE: path.join(directory, 'none.json') });
    assertFailedStart(end);
    assert.match(end.stderr, /TIBA_PORT must be[^]*DATABASE_URL is missing[^]*TIBA_RAILS_FILE cannot be read/);
  });

  it('in production reports all missing and wrong settings at once', async () => {
    const end = await run(SERVER, ['serve'], { TIBA_PORT: 'http', TIBA_SECRET_KEY: 'short' });
    assertFailedStart(end);
    const lines = end.stderr.trim().split('\n');
    assert.match(lines[0] ?? '', /settings are incomplete or wrong/);
    assert.deepEqual(
      lines.slice(1).map((line) => /^ {2}- (\w+) (must be|is missing)/.exec(line)?.slice(1).join(' ')),
      [
        'TIBA_PORT must be',
        'TIBA_SECRET_KEY must be',
        'DATABASE_URL is missing',
        'TIBA_PUBLIC_URL is missing',
        'TIBA_RAILS_FILE is missing',
      ],
    );
  });

  const production = (changes: Record<string, string>): Record<string, string> => ({
    TIBA_DATA_DIR: path.join(directory, 'missing'),
    TIBA_PUBLIC_URL: 'https://api.example.com',
    TIBA_SECRET_KEY: SECRET_KEY,
    TIBA_RAILS_FILE: path.join(directory, 'rails.json'),
    ...changes,
  });

  it('because of its rails file reports all its faults before anything is started', async () => {
    const rail = {
      name: 'bca',
      protocol: 'snap',
      base_url: 'http://bank.example',
      client_key: 'k',
      client_secret_file: 'none.txt',
      private_key_file: 'none.pem',
      partner_id: 'TIBA',
      channel_id: '95221',
      banks: '*',
    };
    await writeFile(path.join(directory, 'rails.json'), JSON.stringify({ rails: [rail] }));
    const end = await run(SERVER, ['serve'], production({}));
    assertFailedStart(end);
    assert.match(
      end.stderr,
      /bca: base_url must be .*\n.*bca: client_secret_file cannot.*\n.*bca: private_key_file cannot/,
    );
    assert.ok(!(await readdir(directory)).includes('missing'));
  });

  it('because PostgreSQL is unreachable says so, and shows no password', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const address = closed.address();
    assert.ok(address !== null && typeof address === 'object');
    closed.close();
    await once(closed, 'close');
    const end = await run(SERVER, ['sandbox'], {
      TIBA_DATA_DIR: path.join(directory, 'sandbox'),
      TIBA_PORT: '0',
      TIBA_OPERATOR_PORT: '0',
      DATABASE_URL: `postgresql://tiba:hunter2@127.0.0.1:${address.port}/tiba`,
    });
    assertFailedStart(end);
    assert.match(end.stderr, /PostgreSQL cannot be used: .*ECONNREFUSED.*DATABASE_URL/);
    assert.doesNotMatch(end.stderr, /hunter2/);
  });

  /** Regression: it printed a stack, and `manage` also for a wrong password or name of a database. */
  it('because its role lacks a right, or the database is another one, says so', async (context) => {
    const database = await createTestDatabase();
    const role = `role_${randomBytes(6).toString('hex')}`;
    const settings = await writeProductionSettings(directory, 1);
    await querySql(database, `create role ${role} login`);
    context.after(async () => {
      await querySql(database, `drop owned by ${role}`);
      await querySql(database, `drop role ${role}`);
      await database.drop();
    });
    const asRole = databaseUrlOf(database).replace('user=tiba', `user=${role}`);
    const assertRefused = async (args: string[], url: string, message: RegExp): Promise<void> => {
      const end = await run(SERVER, args, { ...settings, TIBA_MIGRATE: 'no', DATABASE_URL: url });
      assertFailedStart(end);
      assert.match(end.stderr, message);
    };
    const list = ['manage', 'client', 'list'];
    const elsewhere = databaseUrlOf(database).replace('/test_', '/gone_');
    await assertRefused(list, elsewhere, /PostgreSQL cannot be used: .*does not exist: is DATABASE_URL right\?\n$/);
    const noRight = /PostgreSQL cannot be used: permission denied for [^]*: give the role .*roles\.sql\n$/;
    await assertRefused(list, asRole, noRight);
    await querySql(database, `grant usage on schema tiba to ${role}`);
    await querySql(database, `grant select on all tables in schema tiba to ${role}`);
    for (const args of [['serve'], ['migrate'], ['manage', 'keys', 'rotate']])
      await assertRefused(args, asRole, noRight);
  });

  it('because the schema is not there says how to create it, and starts nothing', async (context) => {
    const database = await createEmptyTestDatabase();
    context.after(() => database.drop());
    const settings = await writeProductionSettings(directory, 1);
    const environment = { ...settings, TIBA_MIGRATE: 'no', DATABASE_URL: databaseUrlOf(database) };
    const refused = await run(SERVER, ['serve'], environment);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /no tables of Tiba: run npm run migrate first, or set TIBA_MIGRATE=yes/);
    assert.doesNotMatch(refused.stderr, /^\s+at /m);
    for (const command of [
      ['client', 'list'],
      ['keys', 'rotate'],
    ]) {
      const managed = await run(SERVER, ['manage', ...command], environment);
      assert.equal(managed.code, 1);
      assert.match(managed.stderr, /no tables of Tiba/);
    }
    const migrated = await run(SERVER, ['migrate'], { DATABASE_URL: environment.DATABASE_URL });
    assert.deepEqual([migrated.code, migrated.stdout], [0, 'The schema is up to date.\n']);
    for (const [argument, says] of [
      ['--distributed', /does not know --distributed: only --distribute/],
      ['--distribute', /needs TIBA_STAGING=yes/],
    ] as const) {
      const notDistributed = await run(SERVER, ['migrate', argument], { DATABASE_URL: environment.DATABASE_URL });
      assert.equal(notDistributed.code, 1);
      assert.match(notDistributed.stderr, says);
    }
    assert.equal((await run(SERVER, ['manage', 'client', 'list'], environment)).code, 0);
  });

  it('because the command is missing or unknown lists the commands', async () => {
    for (const args of [[], ['toString']]) {
      const end = await run(SERVER, args, {});
      assertFailedStart(end);
      assert.match(end.stderr, /sandbox, serve, manage/);
    }
  });

  for (const [name, value] of [
    ['NODE_ENV', 'production'],
    ['TIBA_RAILS_FILE', 'rails.json'],
    ['TIBA_SECRET_KEY', SECRET_KEY],
    ['TIBA_PUBLIC_URL', 'https://api.example.com'],
  ] as const) {
    it(`is the sandbox when ${name}=${value} is set: it invents data that real payments would rely on`, async () => {
      const dataDirectory = path.join(directory, `unused-${name}`);
      const end = await run(SERVER, ['sandbox'], { TIBA_DATA_DIR: dataDirectory, [name]: value });
      assertFailedStart(end);
      assert.match(end.stderr, new RegExp(`${name}.* belongs to production.*npm run serve`));
      assert.ok(!(await readdir(directory)).includes(path.basename(dataDirectory)), 'no directory was created');
    });
  }

  for (const [name, value] of [
    ['NODE_ENV', 'production'],
    ['TIBA_RAILS_FILE', 'rails.json'],
    ['DATABASE_URL', 'postgresql://db.internal/tiba'],
  ] as const) {
    it(`is the simulated bank when ${name}=${value} is set`, async () => {
      const end = await run(BANK, [], { [name]: value });
      assertFailedStart(end);
      assert.match(end.stderr, new RegExp(`refuses to start next to a production configuration \\(${name}\\)`));
    });
  }
});
