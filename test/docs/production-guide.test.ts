import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { type PostgresServer, startPostgresServer } from '../fault-injection/postgres-server.ts';
import { findFreePort } from '../sandbox/production-settings.ts';
import { eventually } from '../support/eventually.ts';
import { commandIsMissing } from '../support/required-command.ts';
import { INHERITED } from '../support/suite-environment.ts';
import { blocksOf, openTerminal, type PastedBlock, type RunningTerminal, runOn, type Terminal } from './terminals.ts';

/** docs/production.md: its rehearsal, as an operator pastes it, on an empty PostgreSQL. */

const missing =
  (['psql', 'curl', 'openssl'] as const).map(commandIsMissing).find((reason) => reason !== false) ?? false;

const page = await readFile(new URL('../../docs/production.md', import.meta.url), 'utf8');
const incidents = await readFile(new URL('../../docs/incidents.md', import.meta.url), 'utf8');
const [, rehearsal = ''] = /\n## The rehearsal\n([^]*?)\n## /.exec(page) ?? [];
const [, production = ''] = /\n## From the rehearsal to production\n([^]*)/.exec(page) ?? [];

const READY = { bank: /^Its certificate authority: /m, service: /"msg":"ready"/, receiver: /^receiver is ready$/m };

suite('the rehearsal of the production guide', { skip: missing }, () => {
  let directory: string;
  let postgres: PostgresServer;
  let terminal: Terminal;
  let environment: NodeJS.ProcessEnv;
  let here: (commands: string) => string;
  let blocks: Omit<PastedBlock, 'needsLogin'>[];
  let urlOf: (role: string) => Promise<string>;
  const running: Record<string, RunningTerminal> = {};

  before(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-guide-'));
    const hbaFile = await writePasswordRules();
    postgres = await startPostgresServer({ settings: { hba_file: hbaFile } });
    const address = `host=${path.dirname(postgres.socketPath)}&port=${path.extname(postgres.socketPath).slice(1)}`;
    const ports = new Map<string, string>();
    for (const port of ['8080', '8081', '8090', '9443']) ports.set(port, String(await findFreePort()));
    environment = {
      ...INHERITED,
      HOME: directory,
      TIBA_PORT: ports.get('8080'),
      TIBA_OPERATOR_PORT: ports.get('8081'),
    };
    terminal = openTerminal(environment, directory);
    // What a reader changes: the address of PostgreSQL. The ports may be in use on this machine.
    here = (commands) =>
      commands
        .replace(/^export ADMIN_URL=.*$/m, `export ADMIN_URL='postgresql://tiba@/postgres?${address}'`)
        .replaceAll(/@127\.0\.0\.1:5432\/(tiba\w*)/g, `@localhost/$1?${address}`)
        .replaceAll(/\b(?:8080|8081|8090|9443)\b/g, (port) => ports.get(port) ?? port);
    blocks = blocksOf(rehearsal).map(({ commands, runsOn }) => ({ commands: here(commands), runsOn }));
    urlOf = (role) => readFile(path.join(directory, 'tiba-staging', `${role}-url`), 'utf8');
  });
  after(async () => {
    terminal?.close();
    for (const each of Object.values(running)) each.kill();
    await postgres?.remove();
    await rm(directory, { recursive: true, force: true });
    await rm(passwordRules(), { force: true });
  });

  /** Beside the directory, which only its owner may open. */
  const passwordRules = (): string => path.join(tmpdir(), `${path.basename(directory)}-hba.conf`);

  /** The superuser of the test's server needs no password; all others do, as in production. */
  async function writePasswordRules(): Promise<string> {
    const file = passwordRules();
    await writeFile(file, 'local all tiba trust\nlocal all all scram-sha-256\n', { mode: 0o644 });
    return file;
  }

  /** Pastes the next block, which must contain the text. */
  async function pasteNext(text: string): Promise<string> {
    const block = blocks.shift();
    assert.ok(block !== undefined && !block.runsOn && block.commands.includes(text), `the next block has ${text}`);
    return terminal.paste(block.commands);
  }
  async function runNext(name: keyof typeof READY, text: string): Promise<void> {
    const block = blocks.shift();
    assert.ok(block?.runsOn && block.commands.includes(text), `the next block has ${text}, in a terminal of its own`);
    running[name] = await runOn(block.commands, environment, READY[name]);
  }

  test('the program, roles, settings and the simulated bank', async () => {
    const program = blocks.shift();
    assert.match(program?.commands ?? '', /^git clone .*\nnpm ci --omit=dev\n$/);
    await pasteNext('roles.sql');
    await pasteNext('rails.json');
    await runNext('bank', 'npm run bank -- --tls');
  });

  test('the schema is migrated by its owner, and the service starts as the other role', async () => {
    assert.match(await pasteNext('npm run migrate'), /The schema is up to date/);
    await runNext('service', 'npm run serve');
    assert.match(running['service']?.printed() ?? '', /"msg":"staging: banks may be simulated/);
    assert.match(await pasteNext('/readyz'), /"status":"ok".*"staging":"TIBA_STAGING/);
  });

  test('the role of the service cannot change the schema, nor create anything', async () => {
    const client = new pg.Client({ connectionString: await urlOf('database') });
    await client.connect();
    try {
      for (const statement of [
        'create table tiba.planted ()',
        'create table public.planted ()',
        'create temporary table planted ()',
        'create schema planted',
        'alter table tiba.transactions add column planted text',
        'drop table tiba.transactions',
        'truncate tiba.transactions',
        'alter role tiba_service superuser',
      ]) {
        await assert.rejects(client.query(statement), /permission denied|must be owner/, statement);
      }
      assert.equal((await client.query('select from tiba.transactions')).rowCount, 0);
    } finally {
      await client.end();
    }
  });

  test('the first client logs in and asks the two questions', async () => {
    await pasteNext('client create shop-one');
    const answers = await pasteNext('log_in');
    assert.match(answers, /"status":"ACTIVE"/);
    assert.match(answers, /"error_code":"TRANSACTION_NOT_FOUND"/);
  });

  test('a callback arrives', async () => {
    await runNext('receiver', 'receiver.mjs');
    assert.match(await pasteNext('callback-endpoints'), /"succeeded":true/);
    assert.match(running['receiver']?.printed() ?? '', /^test_\S+ \{"type":"endpoint\.test"|"type":"endpoint\.test"/m);
  });

  test('a disbursement arrives, and so does its callback', async () => {
    const answers = await pasteNext('/simulation/transfers');
    assert.match(answers, /"bank_reference":/);
    assert.match(answers, /"inserted":1/);
    assert.match(answers, /"transaction_id":"TB2026112300000001",.*"status":"SUCCESS"/);
    const { printed } = running['receiver'] ?? assert.fail();
    await eventually('the callback has arrived', () => printed().includes('"type":"disbursement.succeeded"'));
  });

  test('a bulk validation has a result for each row', async () => {
    const results = await pasteNext('account-validations');
    assert.match(results, /"reference":"one".*"status":"ACTIVE"/);
    assert.match(results, /"reference":"two".*"status":"NOT_FOUND"/);
  });

  test('the commands of the incident handbook find what they are for', async () => {
    await terminal.paste('secret_of ops > ~/ops-secret\n');
    const [start = '', ...sections] = blocksOf(incidents).map(({ commands }) => here(commands));
    // Regression: it only knew DATABASE_URL_FILE, where operating.md exports DATABASE_URL.
    const url = 'DATABASE_URL=$(cat "$DATABASE_URL_FILE") DATABASE_URL_FILE=\n';
    const found = await terminal.paste(`(${url}${start}printf "address=%s " "$DATABASE"; test -n "$PGPASSWORD")\n`);
    assert.match(found, /address=postgresql:\/\/tiba_service@/);
    assert.match(await terminal.paste(start), /"status":"ok"/);
    // The mark of the console.
    const settings = await terminal.paste('curl -s -H "$OPS" "$OPERATOR"/operator/v1/console\n');
    assert.match(settings, /"environment":"staging"/);
    // The list of processes shows arguments: `psql` has the address without the password.
    const [address, password] = (await terminal.paste('printf "%s " "$DATABASE" "$PGPASSWORD"\n')).trim().split(' ');
    const { password: given } = new URL((await urlOf('database')).replace('@localhost/', '@localhost:1/'));
    assert.deepEqual([password, address?.includes('tiba_service@')], [given, true]);
    const answers: string[] = [];
    for (const commands of sections) answers.push(await terminal.paste(commands));
    const [bank, failover, callbacks, updates, checks, disk] = answers;
    assert.match(bank ?? '', /"name":"simulated".*"breaker":"closed"/);
    assert.match(failover ?? '', / f +\|/);
    assert.match(callbacks ?? '', /^tiba_callback_oldest_due_seconds 0$/m);
    assert.match(updates ?? '', /core +\| inserted[^]*rail:simulated +\| advanced/);
    assert.match(checks ?? '', /"client_id":"shop-one"/);
    assert.match(disk ?? '', /transactions_final [^]*slot_name/);
    assert.equal(answers.length, 6);
  });

  test('secrets stand in files only, which other users cannot read', async () => {
    const folder = path.join(directory, 'tiba-staging');
    const secrets = await Promise.all(
      ['secret-key', 'service-password'].map(async (name) => (await readFile(path.join(folder, name), 'utf8')).trim()),
    );
    const shown = Object.values(running).map((each) => each.printed());
    for (const secret of secrets) assert.ok(!shown.some((text) => text.includes(secret)));
    assert.ok((await readdir(folder)).length > 10);
  });

  test('production gets a database, its schema and new passwords on the server of the rehearsal, whose data stay', async () => {
    const { commands } =
      blocksOf(production).find((block) => block.commands.includes('roles.sql')) ??
      assert.fail('no block has roles.sql');
    const fresh = openTerminal(environment, directory);
    try {
      await fresh.paste(here('export ADMIN_URL=\n'));
      // The test's server has a database tiba of its own.
      const others = here(commands).replace('database=tiba ', 'database=tiba_production ');
      const printed = await fresh.paste(others.replaceAll('/tiba?', '/tiba_production?'));
      assert.match(printed, /The schema is up to date/);
    } finally {
      fresh.close();
    }
    const logIn = async (connectionString: string): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      return client;
    };
    const former = await urlOf('database');
    await assert.rejects(logIn(former), /password authentication failed/);
    const given = await readFile(path.join(directory, 'tiba-production', 'database-url'), 'utf8');
    const service = await logIn(given);
    assert.equal((await service.query('select from tiba.transactions')).rowCount, 0);
    await assert.rejects(service.query('drop table tiba.transactions'), /must be owner/);
    const rehearsed = await logIn(given.replace('/tiba_production?', '/tiba_staging?'));
    assert.equal((await rehearsed.query('select from tiba.transactions')).rowCount, 1);
    for (const client of [service, rehearsed]) await client.end();
    await postgres.query('drop database tiba_production');
  });

  test('Ctrl-C ends everything, and nothing is left', async () => {
    for (const each of Object.values(running)) await each.interrupt();
    await pasteNext('drop database');
    assert.equal(blocks.length, 0);
    const left = await postgres.query("select 1 from pg_roles where rolname like 'tiba\\_%'");
    assert.equal(left.length, 0);
  });
});
