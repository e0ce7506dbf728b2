import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilStatus } from '../contract/until.ts';
import { createTestDatabase } from '../support/database.ts';
import { startTestService } from '../support/service.ts';
import { databaseUrlOf, manage, useDatabaseUrl } from './manage-process.ts';

/** Regression: each command reset the limits that it did not name to their defaults, the documented ones too. */
test('client limits keeps limits that it does not name, resets with default, shows all without options', async (t) => {
  const environment = { DATABASE_URL: await useDatabaseUrl(t) };
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await manage(args, { environment });
    assert.equal(code, 0, stderr);
    return stdout;
  };

  await run('client', 'create', 'shop', '--scope', 'status:read account:check');
  await run('client', 'limits', 'shop', '--check-status', '600', '--accounts-per-day', '250000');
  await run('client', 'limits', 'shop', '--accounts-per-day', '300000');
  await run('client', 'trust', 'shop');
  const [shown, listed] = await Promise.all([run('client', 'limits', 'shop'), run('client', 'list')]);
  assert.equal(shown, 'limits of shop: check-status 600, check-account default, accounts-per-day 300000\n');
  assert.equal(listed, 'shop\tshop\tstatus:read account:check\tcheck-status 600\taccounts-per-day 300000\ttrusted\n');
  assert.equal(
    await run('client', 'limits', 'shop', '--check-status', 'default', '--check-account', '0'),
    'limits of shop: check-status default, check-account 0, accounts-per-day 300000\n',
  );

  const wrong = [['unknown'], ['unknown', '--check-status', '1'], ['shop', '--check-status', 'many']];
  const ends = await Promise.all(wrong.map((args) => manage(['client', 'limits', ...args], { environment })));
  assert.deepEqual(
    ends.map(({ code, stderr }) => [code, stderr.split('\n')[1]]),
    [
      [1, 'client unknown does not exist: list them with client list'],
      [1, 'client unknown does not exist: list them with client list'],
      [1, 'a limit is a whole number, or default'],
    ],
  );
});

test('client scopes: a removed scope ends for issued tokens too, a new one comes with the next token', async (t) => {
  const database = await createTestDatabase();
  t.after(database.drop);
  const service = await startTestService({ rails: [], database });
  t.after(service.close);
  const environment = { DATABASE_URL: databaseUrlOf(database) };
  const { token } = await service.addClient('shop', ['status:read', 'events:read']);
  const get =
    (address: string, bearer = token) =>
    () =>
      service.get(address, { token: bearer });
  const status = '/api/v1/check-status/TB0000000001';
  const events = '/api/v1/events';
  const endpoints = '/api/v1/callback-endpoints';
  assert.equal((await get(status)()).status, 404);

  const end = await manage(['client', 'scopes', 'shop', '--scope', 'events:read callbacks:manage'], { environment });
  assert.equal(end.code, 0, end.stderr);
  assert.equal(end.stdout, 'scopes of shop: events:read callbacks:manage\n');
  assert.equal((await untilStatus(403, get(status))).status, 403);
  assert.equal((await get(events)()).status, 200);
  assert.equal((await get(endpoints)()).status, 403, 'the old token does not have the new scope');
  const client = service.app.clients.find('shop');
  assert.ok(client !== undefined);
  const next = await service.app.issue(client, [...client.scopes], 900);
  assert.equal((await get(endpoints, next)()).status, 200);

  const wrong = [['shop'], ['shop', '--scope', 'status:read money:take'], ['unknown', '--scope', 'status:read']];
  const ends = await Promise.all(wrong.map((args) => manage(['client', 'scopes', ...args], { environment })));
  for (const { code, stderr } of ends) {
    assert.equal(code, 1);
    assert.match(stderr, /--scope takes one or more of: status:read |client unknown does not exist/);
  }
});

const NOTHING_DONE = 'Nothing was done. Run the command with --help for what it takes.';

/** Regression: `client disable a b` disabled only a, and a command ignored options that it does not have. */
test('an argument or option that a command does not have is an error, and nothing is changed', async (t) => {
  const environment = { DATABASE_URL: await useDatabaseUrl(t) };
  for (const id of ['a', 'b']) {
    assert.equal((await manage(['client', 'create', id, '--scope', 'status:read'], { environment })).code, 0);
  }
  const ends = await Promise.all(
    [
      ['client', 'disable', 'a', 'b'],
      ['client', 'create', 'c', '--scope', 'status:read', '--check-account', '10'],
      ['client', 'limits', 'a', '--scope', 'feed:write'],
    ].map((args) => manage(args, { environment })),
  );
  assert.deepEqual(
    ends.map(({ code, stderr }) => [code, stderr.split('\n').slice(0, 2)]),
    [
      [1, ["error: too many arguments for 'disable'. Expected 1 argument but got 2: a, b.", NOTHING_DONE]],
      [1, ["error: unknown option '--check-account'", NOTHING_DONE]],
      [1, ["error: unknown option '--scope'", NOTHING_DONE]],
    ],
  );
  const { stdout } = await manage(['client', 'list'], { environment });
  assert.equal(stdout, 'a\ta\tstatus:read\nb\tb\tstatus:read\n');
});
