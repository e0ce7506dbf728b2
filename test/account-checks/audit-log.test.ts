import assert from 'node:assert/strict';
import { createHash, hkdfSync } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import { createAccountHash } from '../../apps/server/src/account-checks/account-hash.ts';
import type { InquiryOutcome, Rail } from '../../apps/server/src/rails/rail.ts';
import { assertError, assertSuccess, TIMESTAMP } from '../contract/assertions.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestService, type TestService } from '../support/service.ts';
import { checksIn, type StoredCheck, searchChecks, storedChecks } from './stored-checks.ts';

/** Every account check leaves an audit record: its client, and its account as a keyed hash only. */

const ACTIVE = '7391046528';
/** The last digits determine the verdict: docs/simulated-bank.md. */
const ACCOUNTS = { ACTIVE, BLOCKED: '5739040403', NOT_FOUND: '5739040404', INACTIVE: '5739040410' };
const UNAVAILABLE = '5739040503';

let database: TestDatabase;
let service: TestService;
let operator: string;
const answers: Answer[] = [];

const check = async (account: string, headers: Record<string, string> = {}, token = service.alpha.token) => {
  const answer = await service.checkAccount({ bank_code: 'BCA', account_number: account }, { headers, token });
  answers.push(answer);
  return { answer, requestId: answer.headers.get('x-request-id') };
};

/** Waits for the audit record of this request. */
async function recordOf({ requestId }: { readonly requestId: string | null }): Promise<StoredCheck> {
  let found: StoredCheck | undefined;
  await eventually('the audit record is stored', async () => {
    found = (await storedChecks(database.connection)).find(({ request_id: id }) => id === requestId);
    return found !== undefined;
  });
  assert.ok(found !== undefined);
  return found;
}

before(async () => {
  database = await createTestDatabase();
  service = await startTestService({ database, settings: { verdictSeconds: 60 } });
  ({ token: operator } = await service.addClient('operator', ['operator:read']));
});
after(async () => {
  await service?.close();
  await database?.drop();
});

suite('an audit record', () => {
  for (const [verdict, account] of Object.entries(ACCOUNTS)) {
    test(`is written for the verdict ${verdict}, with the rail that gave it`, async () => {
      const { client_id, bic, outcome, rail, age_seconds } = await recordOf(await check(account));
      assert.deepEqual(
        { client_id, bic, outcome, rail, age_seconds },
        { client_id: 'alpha', bic: 'CENAIDJA', outcome: verdict, rail: 'simulated-bank', age_seconds: null },
      );
    });
  }

  test('is written when there is no verdict, with the reason', async () => {
    const unavailable = await check(UNAVAILABLE);
    assertError(unavailable.answer, 'SERVICE_UNAVAILABLE');
    const { outcome, rail } = await recordOf(unavailable);
    assert.deepEqual([outcome, rail], ['bank_unavailable', 'simulated-bank']);
  });

  test('is written for a verdict from the cache, with its age', async () => {
    const fresh = await recordOf(await check(ACTIVE, {}, service.beta.token));
    const cached = await recordOf(await check(ACTIVE, { 'cache-control': 'max-age=60' }, service.beta.token));
    assert.equal(fresh.age_seconds, null);
    assert.deepEqual([cached.client_id, cached.outcome, cached.rail], ['beta', 'ACTIVE', 'simulated-bank']);
    assert.ok(cached.age_seconds !== null);
  });

  test('is not written for a request that is rejected before its account is known', async () => {
    const before = (await storedChecks(database.connection)).length;
    assertError(await service.checkAccount({ bank_code: 'BCA', account_number: '12' }), 'INVALID_FORMAT');
    assertError((await check(ACTIVE, {}, service.core.token)).answer, 'FORBIDDEN');
    await recordOf(await check(ACTIVE));
    assert.equal((await storedChecks(database.connection)).length, before + 1);
  });
});

suite('the operator', () => {
  const ids = (answer: Answer) => checksIn(answer).map((each) => each['request_id']);

  test('finds who has checked an account, by any code of its bank, the newest first', async () => {
    const account = '6482951730';
    const first = await check(account);
    const second = await check(account, {}, service.beta.token);
    await recordOf(first);
    await recordOf(second);
    for (const bank_code of ['014', 'bca', 'CENAIDJA']) {
      const answer = await searchChecks(service, operator, { bank_code, account_number: account });
      assert.deepEqual(ids(answer), [second.requestId, first.requestId]);
      assertSuccess(answer);
    }
    const ofBeta = await searchChecks(service, operator, {
      client_id: 'beta',
      bank_code: '014',
      account_number: account,
    });
    assert.deepEqual(ids(ofBeta), [second.requestId]);
    const elsewhere = await searchChecks(service, operator, { bank_code: 'BRI', account_number: account });
    assert.deepEqual(ids(elsewhere), []);
  });

  test('finds the checks of a client in a time range, and whether there are more', async () => {
    const all = await searchChecks(service, operator, { client_id: 'alpha' });
    const found = checksIn(all);
    assert.ok(found.length > 3);
    assert.equal(all.json.data?.['has_more'], false);
    for (const each of found) {
      assert.match(String(each['checked_at']), TIMESTAMP);
      assert.match(String(each['account_hash']), /^[0-9a-f]{32}$/);
      assert.equal(each['client_id'], 'alpha');
      assert.ok((each['verdict'] === null) !== (each['no_verdict_reason'] === null));
    }
    const some = await searchChecks(service, operator, { client_id: 'alpha', limit: 2 });
    assert.deepEqual([ids(some), some.json.data?.['has_more']], [ids(all).slice(0, 2), true]);
    const time = String(found[1]?.['checked_at']);
    const then = await searchChecks(service, operator, { client_id: 'alpha', from: time, to: time });
    assert.ok(ids(then).includes(found[1]?.['request_id']));
    assert.ok(checksIn(then).every((each) => each['checked_at'] === time));
  });

  test('alone may search, and gets a message about each invalid field', async () => {
    assertError(await searchChecks(service, null, { client_id: 'alpha' }), 'UNAUTHORIZED');
    for (const { token } of [service.alpha, service.core])
      assertError(await searchChecks(service, token, { client_id: 'alpha' }), 'FORBIDDEN', /operator:read/);
    const wrong: readonly [Record<string, unknown>, RegExp][] = [
      [{}, /give client_id, or bank_code and account_number/],
      [{ client_id: 7 }, /client_id must be a string/],
      [{ client_id: 'a\u0000b' }, /client_id must be a string/],
      [{ bank_code: 'BCA' }, /account_number must be/],
      // Regression: a misspelled filter was ignored, and more was found than was asked for.
      [{ client_id: 'alpha', since: '2026-11-21T00:00:00Z' }, /it has client_id, bank_code, account_number, from, to/],
      [{ client_id: 'a'.repeat(129) }, /at most 128 characters/],
      [{ client_id: 'alpha', from: '2026-11-21' }, /from must be a time/],
      [{ client_id: 'alpha', limit: 1_001 }, /limit must be a whole number/],
    ];
    for (const [body, message] of wrong)
      assertError(await searchChecks(service, operator, body), 'INVALID_REQUEST', message);
    assertError(await searchChecks(service, operator, { account_number: ACTIVE }), 'INVALID_BANK_CODE', /is missing$/);
  });
});

test('the audit records and the log contain no account number and no name', async () => {
  const numbers = [...Object.values(ACCOUNTS), UNAVAILABLE, '6482951730'];
  const names = answers.map(({ json }) => json.data?.['account_name']).filter((name) => typeof name === 'string');
  assert.ok(names.length > 0);
  const records = (await storedChecks(database.connection)).map(({ whole }) => whole);
  assert.ok(records.length > numbers.length);
  const text = [...records, ...service.logged.map((line) => JSON.stringify(line))].join('\n');
  for (const number of numbers) assert.ok(!text.includes(number.slice(0, 7)), number);
  for (const name of names) assert.ok(!text.includes(name), name);
});

test('pending audit records are written when the service stops', async () => {
  const other = await startTestService({ database });
  const answer = await other.checkAccount({ bank_code: 'BCA', account_number: ACTIVE });
  await other.close();
  const records = await storedChecks(database.connection);
  assert.ok(records.some(({ request_id: id }) => id === answer.headers.get('x-request-id')));
});

// Regression: the record came after the end of the audit log, and was lost.
test('a check whose client has gone is audited when the service stops', async () => {
  const inquired = Promise.withResolvers<void>();
  const reply = Promise.withResolvers<InquiryOutcome>();
  const rail: Rail = {
    name: 'slow-bank',
    reaches: () => true,
    inquireAccount() {
      inquired.resolve();
      return reply.promise;
    },
    close: () => Promise.resolve(),
  };
  const other = await startTestService({ database, rails: [rail] });
  const client = new AbortController();
  const request = fetch(`${other.url}/api/v1/check-account`, {
    method: 'POST',
    headers: { authorization: `Bearer ${other.alpha.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ bank_code: 'BCA', account_number: ACTIVE }),
    signal: client.signal,
  });
  await inquired.promise;
  client.abort();
  await assert.rejects(request, { name: 'AbortError' });
  const closed = other.close();
  await eventually('no connection is accepted', () =>
    fetch(`${other.operatorUrl}/livez`).then(
      () => false,
      () => true,
    ),
  );
  reply.resolve({ kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '4041611' });
  await closed;
  const records = await storedChecks(database.connection);
  assert.equal(records.filter(({ rail: name }) => name === 'slow-bank').length, 1);
});

test('the hash of an account follows NIST SP 800-56C, with a key derived from the data key', () => {
  const secretKey = Buffer.alloc(32, 9);
  const key = Buffer.from(hkdfSync('sha256', secretKey, '', 'tiba account hash', 32)).toString('hex');
  const hashAccount = createAccountHash(secretKey);
  for (const number of ['1'.repeat(34), '12345', '1234567890']) {
    for (const bic of ['CENAIDJA', 'BRINIDJAXXX']) {
      const expected = createHash('sha256')
        .update(Buffer.from([0, 0, 0, 1]))
        .update(key)
        .update(`${bic} ${number}`);
      assert.equal(hashAccount(bic, number), expected.digest('hex').slice(0, 32));
    }
  }
  assert.notEqual(createAccountHash(Buffer.alloc(32, 8))('CENAIDJA', '12345'), hashAccount('CENAIDJA', '12345'));
});
