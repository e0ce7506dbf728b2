import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, it } from 'node:test';
import { start, usePlace } from '../embedded-postgres/harness.ts';
import { type ManageEnd, manage, useDatabaseUrl } from './manage-process.ts';

function assertNoDatabase({ code, stdout, stderr }: ManageEnd, dataDirectory: string): void {
  assert.equal(code, 1);
  assert.equal(stdout, '');
  assert.doesNotMatch(stderr, /^\s+at /m);
  assert.match(stderr, /^DATABASE_URL is missing, and there is no database in (\S+) \(TIBA_DATA_DIR\)/);
  assert.ok(stderr.includes(path.join(dataDirectory, 'postgres')), stderr);
}

/** Regression: in an incident, `client disable` made a new database and said that it had no such client. */
describe('manage never makes a database', { concurrency: 2 }, () => {
  it('without a setting, where no sandbox is', async (t) => {
    const directory = path.dirname((await usePlace(t)).dataDirectory);
    assertNoDatabase(await manage(['client', 'disable', 'shop'], { cwd: directory }), path.join(directory, '.tiba'));
    assert.deepEqual(await readdir(directory), []);
  });

  it('in a TIBA_DATA_DIR that is empty, holds an empty folder, or is not there', async (t) => {
    const directory = path.dirname((await usePlace(t)).dataDirectory);
    const environment = { TIBA_DATA_DIR: directory };
    assertNoDatabase(await manage(['client', 'list'], { environment }), directory);
    await mkdir(path.join(directory, 'postgres'));
    assertNoDatabase(await manage(['client', 'list'], { environment }), directory);
    assert.deepEqual(await readdir(directory, { recursive: true }), ['postgres']);
    const never = path.join(directory, 'never-made');
    assertNoDatabase(await manage(['client', 'list'], { environment: { TIBA_DATA_DIR: never } }), never);
    assert.deepEqual(await readdir(directory), ['postgres']);
  });
});

describe('manage says which database it uses', { concurrency: 2 }, () => {
  it('that of DATABASE_URL, without its password', async (t) => {
    const url = await useDatabaseUrl(t);
    const { code, stdout, stderr } = await manage(['client', 'list'], { environment: { DATABASE_URL: url } });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^There are no clients yet/);
    assert.match(stderr, /^database: postgresql:\/\/\/test_\w+\?user=tiba&host=\S+\n$/);
    assert.doesNotMatch(stderr, /hunter2/);
  });

  it('the embedded one beside a service that runs, also by default, and after that has ended', async (t) => {
    const place = await usePlace(t);
    const directory = path.dirname(place.dataDirectory);
    const besides = { ...place, dataDirectory: path.join(directory, '.tiba', 'postgres') };
    await mkdir(path.dirname(besides.dataDirectory));
    const server = await start(besides);
    const create = ['client', 'create', 'shop', '--scope', 'status:read'];
    const created = await manage(create, { cwd: directory });
    assert.equal(created.code, 0, created.stderr);
    assert.equal(created.stderr, `database: ${besides.dataDirectory}\n`);
    await server.stop();
    const { code, stdout, stderr } = await manage(['client', 'list'], { cwd: directory });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^shop\t/);
  });
});
