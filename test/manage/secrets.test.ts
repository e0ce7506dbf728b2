import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { findMatch, hashSecret } from '../../apps/server/src/auth/secrets.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { send, startTestService, type TestService } from '../support/service.ts';
import { databaseUrlOf, manage } from './manage-process.ts';

/** A client may have two secrets, so that one replaces the other without a failed login. */

let database: TestDatabase;
let service: TestService;
before(async () => {
  database = await createTestDatabase();
  service = await startTestService({ rails: [], database });
});
after(async () => {
  await service?.close();
  await database?.drop();
});

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await manage(args, { environment: { DATABASE_URL: databaseUrlOf(database) } });
  assert.equal(code, 0, stderr);
  return stdout;
}

async function refusal(...args: string[]): Promise<string> {
  const { code, stderr } = await manage(args, { environment: { DATABASE_URL: databaseUrlOf(database) } });
  assert.equal(code, 1);
  return stderr;
}

const secretIn = (output: string): string => /client_secret\s+(\S+)/.exec(output)?.[1] ?? '';

async function logIn(url: string, clientSecret: string): Promise<number> {
  const form = { grant_type: 'client_credentials', client_id: 'shop', client_secret: clientSecret };
  const { status } = await send(`${url}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) });
  return status;
}

test('a rotation under load: no login fails on either listener, and the old secret ends', async () => {
  const { clientSecret: old } = await service.addClient('shop', ['status:read']);
  const urls = [service.url, service.operatorUrl];
  let secret = old;
  let logins = 0;
  const failed: number[] = [];
  const ended = new AbortController();
  const load = async (url: string): Promise<void> => {
    while (!ended.signal.aborted) {
      const status = await logIn(url, secret);
      logins += 1;
      if (status !== 200) failed.push(status);
    }
  };
  const running = urls.map((url) => load(url));

  const added = secretIn(await run('client', 'add-secret', 'shop'));
  assert.match(await refusal('client', 'add-secret', 'shop'), /^shop has two secrets already/m);
  await eventually('the service knows the new one', async () => (await logIn(service.url, added)) === 200);
  const since = logins;
  secret = added;
  await eventually('logins go on with it', () => logins > since + 20);
  for (const url of urls) assert.deepEqual([await logIn(url, old), await logIn(url, added)], [200, 200]);

  await eventually(
    'the use of both is stored',
    async () => !(await run('client', 'secrets', 'shop')).includes('not used'),
  );
  const listed = (await run('client', 'secrets', 'shop')).trimEnd().split('\n');
  assert.equal(listed.length, 2);
  for (const line of listed)
    assert.match(line, /^[0-9a-f]{8}\tcreated \d{4}-\d\d-\d\dT[\d:.]{12}Z\tlast used on \d{4}-\d\d-\d\d$/);
  for (const each of [old, added]) assert.ok(!listed.join().includes(each.slice(0, 8)));
  const oldId = hashSecret(old).toString('hex').slice(0, 8);
  assert.equal(listed[0]?.split('\t')[0], oldId, 'the older one first');

  await run('client', 'retire-secret', 'shop', '--secret', oldId);
  await eventually('the old one ends', async () => (await logIn(service.url, old)) === 401);
  assert.deepEqual([await logIn(service.operatorUrl, old), await logIn(service.url, added)], [401, 200]);
  ended.abort();
  await Promise.all(running);
  assert.deepEqual(failed, []);
});

test('the last secret cannot be retired, and new-secret ends both', async () => {
  const { clientSecret } = await service.addClient('other', ['status:read']);
  const id = hashSecret(clientSecret).toString('hex').slice(0, 8);
  assert.match(await refusal('client', 'retire-secret', 'other', '--secret', id), /is the only secret of other/);
  assert.match(await refusal('client', 'retire-secret', 'other', '--secret', 'x'), new RegExp(`takes one of: ${id}`));
  assert.match(await refusal('client', 'secrets', 'unknown'), /^client unknown does not exist/m);
  await run('client', 'add-secret', 'other');
  const fresh = hashSecret(secretIn(await run('client', 'new-secret', 'other')))
    .toString('hex')
    .slice(0, 8);
  const listed = await run('client', 'secrets', 'other');
  assert.match(listed, new RegExp(`^${fresh}\\tcreated [^\\n]*not used yet\\n$`));
});

test('a secret is compared with both hashes, and an absent one matches nothing', () => {
  const [one, two] = [hashSecret('one'), hashSecret('two')];
  assert.equal(findMatch('one', one, two), one);
  assert.equal(findMatch('two', one, two), two);
  assert.equal(findMatch('three', one, two), null);
  assert.equal(findMatch('one', one, null), one);
  assert.equal(findMatch('', null, null), null);
});
