import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { chmod, copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { assertError } from '../contract/assertions.ts';
import { manage } from '../manage/manage-process.ts';
import { findFreePort } from '../sandbox/production-settings.ts';
import { GENEROUS_TIMEOUTS, querySql, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, statusUpdate, type TestService } from '../support/service.ts';

/**
 * The commands of docs/backup.md, as they stand there, on the PostgreSQL that Debian installs: the embedded one has no
 * pg_basebackup and no pg_dump.
 */

const GUIDE = new URL('../../docs/backup.md', import.meta.url);
/** The moment in the guide's commands. */
const GUIDE_MOMENT = '2026-11-22 09:30:00+00';
/** As if the restore followed this long after the moment: `manage restored` refuses while a heartbeat is young. */
const AGO = { sql: "interval '10 minutes'", ms: 10 * 60_000 };
const VERSIONS = '/usr/lib/postgresql';
/** PostgreSQL refuses to run as root. */
const AS_SERVER = process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--'] : [];

function findBinaries(): string | null {
  try {
    const [newest] = readdirSync(VERSIONS).toSorted((one, other) => Number(other) - Number(one));
    return newest === undefined ? null : path.join(VERSIONS, newest, 'bin');
  } catch {
    return null;
  }
}

const binaries = findBinaries();

function missing(): string | false {
  if (binaries !== null) return false;
  assert.notEqual(process.env['CI'], 'true', `There is no PostgreSQL in ${VERSIONS}; CI must have it.`);
  return `There is no PostgreSQL in ${VERSIONS}, so the commands of docs/backup.md were not checked.`;
}

interface ListedEvent {
  readonly sequence: number;
  readonly data: { readonly transaction_id: string };
}

const BEFORE = ['TR0000000001', 'TR0000000002'];
const AFTER_BASE_BACKUP = ['TR0000000003'];
const KEPT = [...BEFORE, ...AFTER_BASE_BACKUP];
/** After the moment that is restored. */
const LOST = ['TR0000000011', 'TR0000000012', 'TR0000000013'];

describe('the commands of docs/backup.md', { skip: missing() }, () => {
  let directory: string;
  let guide: string;
  let environment: Record<string, string>;
  let database: TestDatabase;
  let service: TestService | undefined;
  /** Tokens belong to a public URL, so each of these services has the same. */
  let port: number;
  const running = (): TestService => service ?? assert.fail();

  /** The block of the guide that contains the text, with the folders and values of this test. */
  function block(text: string, values: Readonly<Record<string, string>> = {}): string {
    const blocks = Array.from(guide.matchAll(/```(?:sh|ini)\n([^]*?)```/g), ([, each = '']) => each);
    const [found, ...others] = blocks.filter((each) => each.includes(text));
    assert.ok(found !== undefined && others.length === 0, `one block has ${text}`);
    const all = { '/backup': path.join(directory, 'backup'), ...values };
    return Object.entries(all).reduce((done, [name, value]) => done.replaceAll(name, value), found);
  }

  /** As the user of the server. */
  async function run(script: string): Promise<void> {
    const [program, ...args] = [...AS_SERVER, 'bash', '--norc', '-euc', script];
    await promisify(execFile)(program, args, { cwd: directory, env: environment });
  }

  const start = async (): Promise<void> => {
    service = await startTestService({ database, rails: [], settings: { port } });
  };
  const stop = async (): Promise<void> => {
    await service?.close();
    service = undefined;
  };
  const feed = async (ids: readonly string[]): Promise<void> => {
    const updates = ids.map((id) => statusUpdate({ transaction_id: id, reference_id: id, status: 'SUCCESS' }));
    const answer = await running().feed(updates);
    assert.equal(answer.json.data?.['inserted'], ids.length, answer.text);
  };
  const readEvents = (from: string): Promise<Answer> => running().get(from);
  const transactionsOf = async (of: TestDatabase): Promise<unknown[]> =>
    (await querySql(of, 'select transaction_id from tiba.transactions order by 1')).map((row) => row['transaction_id']);

  before(async () => {
    guide = await readFile(GUIDE, 'utf8');
    directory = await mkdtemp(path.join(tmpdir(), 'tiba-backup-'));
    await chmod(directory, 0o777);
    port = await findFreePort();
    const postgresPort = await findFreePort();
    const url = (name: string): string => `postgresql://tiba@127.0.0.1:${postgresPort}/${name}`;
    environment = {
      PATH: `${binaries}:/usr/bin:/bin:/usr/sbin:/sbin`,
      LC_ALL: 'C',
      PGDATA: path.join(directory, 'data'),
      DATABASE_URL: url('tiba'),
      REPLICATION_URL: url('tiba'),
      ADMIN_URL: url('postgres'),
      TIBA_OWNER_PASSWORD: 'of the owner',
      TIBA_SERVICE_PASSWORD: 'of the service',
      RESTORED_URL: url('tiba_restored').replace('//tiba@', '//tiba_owner@'),
    };
    database = { connection: { connectionString: url('tiba'), ...GENEROUS_TIMEOUTS }, drop: () => Promise.resolve() };
    // The server's log goes to a file, or `run` would wait for its end.
    await run(
      `mkdir -p backup/wal
       initdb --username=tiba --auth=trust --no-sync >initdb.log
       cat >> "$PGDATA/postgresql.conf" <<'END'
fsync = off
listen_addresses = '127.0.0.1'
port = ${postgresPort}
unix_socket_directories = ''
${block('archive_command')}
END
       pg_ctl --log=server.log --wait start >pg_ctl.log
       createdb --maintenance-db="${url('postgres')}" tiba`,
    );
  });
  after(async () => {
    await stop();
    await run('pg_ctl --mode=immediate stop >pg_ctl.log || true');
    await rm(directory, { recursive: true, force: true });
  });

  it('restore a moment: every reader of events that is beyond it is told, and none skips an event', async () => {
    await start();
    await feed(BEFORE);
    await run(`(${block('pg_basebackup')}) >backup.log`);
    await feed(AFTER_BASE_BACKUP);
    const [{ moment, text } = {}] = await querySql(database, 'select now() as moment, now()::text as text');
    assert.ok(moment instanceof Date);
    await feed(LOST);
    await run(block('pg_dump'));
    await stop();
    await loseServer();

    await run(`(${block('recovery.signal', { [GUIDE_MOMENT]: String(text) })}) >pg_ctl.log`);
    await eventually('the moment is reached', async () => {
      const [{ done } = {}] = await querySql(database, 'select not pg_is_in_recovery() as done');
      return done === true;
    });
    assert.deepEqual(await transactionsOf(database), KEPT);
    await querySql(database, `update tiba.processes set heartbeat_at = heartbeat_at - ${AGO.sql}`);
    const DATABASE_URL = environment['DATABASE_URL'] ?? '';
    const { code, stdout, stderr } = await manage(['restored'], { environment: { DATABASE_URL } });
    assert.equal(code, 0, stderr);
    const [, restoredTo = ''] = /holds what happened up to (\S+)\. Next:/.exec(stdout) ?? [];
    const behindMs = moment.getTime() - AGO.ms - Date.parse(restoredTo);
    assert.ok(behindMs >= 0 && behindMs < 60_000, `a minute before ${restoredTo} is early enough`);
    await judgeReaders();
  });

  /** All that was committed is archived, then the server and its data are gone. */
  async function loseServer(): Promise<void> {
    const [{ wal } = {}] = await querySql(database, 'select pg_walfile_name(pg_switch_wal()) as wal');
    await eventually('the write-ahead log is archived', async () => {
      const [{ last } = {}] = await querySql(database, 'select last_archived_wal as last from pg_stat_archiver');
      return String(last) >= String(wal);
    });
    await run('pg_ctl --mode=immediate stop >pg_ctl.log; mv "$PGDATA" lost; mkdir --mode=700 "$PGDATA"');
  }

  /** Each has read up to one of the events that there were. */
  async function judgeReaders(): Promise<void> {
    await start();
    const next: string[] = [];
    for (let cursor = 0; cursor <= KEPT.length + LOST.length; cursor += 1) {
      const from = `/api/v1/events?after=${cursor}`;
      const answer = await readEvents(from);
      if (cursor <= KEPT.length) {
        assert.equal(answer.status, 200, answer.text);
        next.push(from);
      } else {
        assertError(answer, 'CURSOR_GONE');
        next.push(/<(.*)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1] ?? assert.fail());
      }
    }
    await feed(LOST);
    for (const [cursor, from] of next.entries()) {
      const { json, text } = await readEvents(from);
      const events = json.data?.['events'] as readonly ListedEvent[] | undefined;
      const ids = events?.map(({ data }) => data.transaction_id) ?? [];
      assert.deepEqual(ids, [...KEPT.slice(cursor), ...LOST], text);
      const again = events?.slice(-LOST.length).map(({ sequence }) => sequence) ?? [];
      assert.ok(Math.min(...again) > KEPT.length + LOST.length, text);
    }
  }

  // Regression: the role of the service could not create the database, and would have owned what it restored.
  it('restore a dump into a new database, in which the service can change rows and nothing else', async () => {
    await copyFile(new URL('../../deploy/postgres/roles.sql', import.meta.url), path.join(directory, 'roles.sql'));
    await run(block('pg_restore', { 'deploy/postgres/roles.sql': 'roles.sql' }));
    const ofOwner = environment['RESTORED_URL'] ?? '';
    const ofService = ofOwner.replace('//tiba_owner@', '//tiba_service@');
    const restored = { ...database, connection: { connectionString: ofService } };
    assert.deepEqual(await transactionsOf(restored), [...KEPT, ...LOST]);
    await querySql(restored, "update tiba.clients set name = 'changed'");
    await assert.rejects(querySql(restored, 'alter table tiba.clients add column more text'), { code: '42501' });
    const owners = await querySql(restored, "select distinct tableowner from pg_tables where schemaname = 'tiba'");
    assert.deepEqual(owners, [{ tableowner: 'tiba_owner' }]);
  });
});
