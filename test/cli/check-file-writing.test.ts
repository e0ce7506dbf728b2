import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { checkAccounts } from '../../packages/cli/src/check-file/check-accounts.ts';
import { removeLeftovers, replaceFile } from '../../packages/cli/src/check-file/replace-file.ts';
import { newRun } from '../../packages/cli/src/check-file/run-state.ts';
import { createTibaClient } from '../../packages/client/src/index.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tiba-test-'));
});
after(() => rm(folder, { recursive: true, force: true }));

suite('a file that is replaced', () => {
  const MODULE = new URL('../../packages/cli/src/check-file/replace-file.ts', import.meta.url).href;

  /** Runs the code in a process of its own, after a command of the shell. */
  async function run(code: string, before = ':'): Promise<number | null> {
    const script = `import { replaceFile } from '${MODULE}'; ${code}`;
    const args = ['--input-type=module', '--eval', script];
    const child = spawn('sh', ['-c', `${before}; exec "$0" "$@"`, process.execPath, ...args], { stdio: 'ignore' });
    await once(child, 'exit');
    return child.exitCode;
  }

  test('is whole or the former one: where only a part of the text fits, the writing fails', async () => {
    const file = path.join(folder, 'full.csv');
    await writeFile(file, 'former');
    // The limit of a file's size ends a write as a full disk does: the first one is cut, the next one fails.
    const code = `await replaceFile('${file}', ['x'.repeat(5_000)]).catch(({ code }) => process.exit(code === 'EFBIG' ? 7 : 1));`;
    assert.equal(await run(code, 'ulimit -f 1'), 7);
    assert.equal(await readFile(file, 'utf8'), 'former');
  });

  test('is not written through a link that another user of the folder has made', async () => {
    const file = path.join(folder, 'links.csv');
    const victim = path.join(folder, 'victim');
    await writeFile(victim, 'kept');
    await symlink(victim, `${file}.${process.pid}.tiba-tmp`);
    await replaceFile(file, ['c']);
    assert.equal(await readFile(victim, 'utf8'), 'kept');
    assert.equal(await readFile(file, 'utf8'), 'c');
  });

  test('what a killed process has left is removed; what another machine may be writing stays for a day', async () => {
    const own = await mkdtemp(path.join(folder, 'left-'));
    const file = path.join(own, 'out.csv');
    const code = `function* chunks() { yield 'a'; process.kill(process.pid, 'SIGKILL'); yield 'b'; }`;
    await run(`${code} await replaceFile('${file}', chunks());`);
    const [left = ''] = await readdir(own);
    assert.match(left, /^out\.csv\.[0-9a-f]{16}-\d+-.*\.tiba-tmp$/);
    const other = left.replace(/csv\.[0-9a-f]{16}/, `csv.${'0'.repeat(16)}`);
    const old = other.replace('000-', '001-');
    for (const name of [other, old]) await writeFile(path.join(own, name), '');
    await utimes(path.join(own, old), 0, 0);
    await removeLeftovers(file);
    assert.deepEqual(await readdir(own), [other]);
  });
});

test('when all parts are refused for the limit of validations, the service is quoted and the check ends', async (context) => {
  const message = 'Ten of your validations are running: wait until one has ended';
  const server = createServer((request, response) => {
    request.resume();
    const isToken = request.url?.includes('token') === true;
    const body = isToken
      ? { access_token: 'token', token_type: 'Bearer', expires_in: 3_600 }
      : { success: false, error_code: 'VALIDATION_LIMIT_REACHED', message };
    response.writeHead(isToken ? 200 : 409, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const client = createTibaClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientId: 'alpha',
    clientSecret: 'secret',
  });
  const accounts = Array.from({ length: 4 }, (_, index) => ({ bank_code: '014', account_number: `123456789${index}` }));
  const identity = { service: 'x', client_id: 'x', input_sha256: 'x', accounts_sha256: 'x' };
  const notes: string[] = [];
  await assert.rejects(
    checkAccounts(
      newRun(
        identity,
        accounts.map((_, first) => ({ first, count: 1 })),
      ),
      {
        client,
        accounts,
        stateFile: path.join(folder, 'limit.json'),
        signal: context.signal,
        note: (note) => notes.push(note),
        onProgress: () => undefined,
      },
    ),
    { error_code: 'VALIDATION_LIMIT_REACHED' },
  );
  assert.deepEqual(notes, [`${message}; the next part waits for another to end`]);
});
