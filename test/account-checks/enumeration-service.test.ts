import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { resumePausedValidations } from '../../apps/server/src/postgres/account-validations.ts';
import { changeClient, setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { dataOf, type Validation, validationsOf } from '../account-validations/validations.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { createFastClient, type FastClient } from '../contract/fast-client.ts';
import { seededRandom } from '../rails/resilience/seed.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { logIn } from '../support/serve.ts';
import { type Answer, send, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { storedChecks } from './stored-checks.ts';

/**
 * The enumeration guard over HTTP: a client that enumerates accounts is slowed, then blocked; other clients are not.
 */

const PAUSE_MS = 30 * 60_000;
const CONCURRENCY = 4;

let database: TestDatabase;
let service: TestService;
let operator: TestClient;
/** Of the first service. */
let fast: FastClient;
let nowMs = 0;

/** A rail that records its inquiries. Account numbers that end in 404 do not exist. */
const inquired: string[] = [];
const rail: Rail = {
  name: 'recording',
  reaches: () => true,
  async inquireAccount({ accountNumber }) {
    const number = accountNumber.reveal();
    inquired.push(number);
    return number.endsWith('404')
      ? { kind: 'verdict', verdict: { status: 'NOT_FOUND' }, railCode: '1' }
      : { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: 'BUDI' }, railCode: '0' };
  },
  close: async () => {},
};

const start = (): Promise<TestService> =>
  startTestService({ rails: [rail], database, limitClock: () => nowMs, enumerationGuard: { slowedMs: 1 } });

before(async () => {
  database = await createTestDatabase();
  service = await start();
  operator = await service.addClient('operator', ['operator:read']);
  fast = createFastClient(service.url, CONCURRENCY);
});
after(async () => {
  await fast?.close();
  await service?.close();
  await database?.drop();
});

const addClient = (clientId: string, accountsPerDay = 100_000): Promise<TestClient> =>
  service.addClient(clientId, ['account:check'], { 'check-account': 1_000_000, 'accounts-per-day': accountsPerDay });

const check = ({ token }: TestClient, account: number | string, bank = 'BRI'): Promise<Answer> =>
  service.checkAccount({ bank_code: bank, account_number: String(account) }, { token });

/** Checks the accounts in order, some at the same time. */
async function checkAll({ token }: TestClient, accounts: readonly (number | string)[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const remaining = accounts.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const account of remaining) {
        const body = JSON.stringify({ bank_code: 'BRI', account_number: String(account) });
        answers.push(await fast.send('/api/v1/check-account', { method: 'POST', headers, body }));
      }
    }),
  );
  return answers;
}

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

interface RestrictedJson {
  readonly client_id: string;
  readonly accounts_today: number;
  readonly signals: readonly { readonly signal: string; readonly level: string; readonly figure: number }[];
}

async function restrictionOf(client: TestClient): Promise<RestrictedJson | undefined> {
  const headers = { authorization: `Bearer ${operator.token}` };
  const answer = await send(`${service.operatorUrl}/operator/v1/enumeration`, { headers });
  assertSuccess(answer);
  const clients = answer.json.data?.['clients'] as RestrictedJson[];
  return clients.find((each) => each.client_id === client.clientId);
}

const logLinesOf = (client: TestClient, level: number): Record<string, unknown>[] =>
  service.logged.filter((line) => line['level'] === level && line['clientId'] === client.clientId && 'signal' in line);
const INFO = 30;
const WARN = 40;

test('1,000 sequential account numbers: slowed, then blocked, listed, and free half an hour later', async () => {
  const enumerator = await addClient('enumerator');
  const sequence = Array.from({ length: 1_000 }, (_, index) => 7_000_000_000 + index);
  const before = inquired.length;
  const answers = await checkAll(enumerator, sequence);
  assert.equal(inquired.length - before, 200, 'inquiries to the bank');
  assert.deepEqual([countOf(answers, 200), countOf(answers, 429)], [200, 800]);
  const blocked = await check(enumerator, 7_000_000_999);
  assertError(blocked, 'RATE_LIMIT_EXCEEDED', /look like account enumeration.*Retry-After.*operator/);
  assert.equal(blocked.headers.get('retry-after'), String(PAUSE_MS / 1000));

  assert.equal((await check(enumerator, 7_000_000_000)).status, 200, 'accounts that were checked today stay available');
  assert.equal((await check(service.beta, 7_000_000_500)).status, 200, 'other clients are not restricted');
  assert.deepEqual(
    (await restrictionOf(enumerator))?.signals.map(({ signal, level, figure }) => ({ signal, level, figure })),
    [{ signal: 'sequential_numbers', level: 'blocked', figure: 200 }],
  );
  assert.equal(await restrictionOf(service.beta), undefined);
  assert.deepEqual(
    logLinesOf(enumerator, WARN).map(({ restriction, figure }) => [restriction, figure]),
    [
      ['slowed', 50],
      ['blocked', 200],
    ],
  );
  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  assert.match(metrics, /tiba_enumeration_restrictions_total\{signal="sequential_numbers",level="blocked"\} 1/);
  await eventually('each blocked check has its audit record', async () => {
    const records = await storedChecks(database.connection);
    return (
      records.filter(({ client_id: id, outcome }) => id === 'enumerator' && outcome === 'sequential_numbers').length ===
      801
    );
  });

  nowMs += PAUSE_MS;
  assert.equal((await check(enumerator, 7_000_000_999)).status, 200);
  assert.equal(await restrictionOf(enumerator), undefined);
  assert.equal(logLinesOf(enumerator, INFO).length, 1);
});

test('a legitimate client with old accounts and a payroll is not restricted', async (t) => {
  const legitimate = await addClient('legitimate');
  const random = seededRandom(t);
  const far = (): number => 10 ** 9 + Math.floor(random() * 8 * 10 ** 9);
  const payroll = Array.from({ length: 45 }, (_, index) => 5_000_000_000 + index);
  const accounts = Array.from({ length: 2_000 }, (_, index) => {
    if (index % 40 === 0) return payroll[index / 40] ?? far();
    return random() < 0.3 ? `${far()}404` : far();
  });
  const answers = await checkAll(legitimate, accounts);
  // Checks of accounts that were checked today count for nothing.
  answers.push(...(await checkAll(legitimate, accounts.slice(0, 500))));
  assert.equal(countOf(answers, 200), 2_500);
  assert.equal(await restrictionOf(legitimate), undefined);
  assert.deepEqual(logLinesOf(legitimate, WARN), []);
});

test('a client whose accounts mostly do not exist is blocked, until the operator trusts it', async (t) => {
  const guessing = await addClient('guessing');
  const random = seededRandom(t);
  const guesses = Array.from({ length: 250 }, () => `${10 ** 9 + Math.floor(random() * 8 * 10 ** 9)}404`);
  const answers = await checkAll(guessing, guesses);
  assert.ok(countOf(answers, 429) >= 40);
  assert.deepEqual(
    (await restrictionOf(guessing))?.signals.map(({ signal, level }) => [signal, level]),
    [['not_found_ratio', 'blocked']],
  );
  await changeClient(service.app.database, 'guessing', 'trust');
  await service.app.clients.reload();
  assert.equal((await check(guessing, '9999999404')).status, 200);
  assert.equal(await restrictionOf(guessing), undefined);
});

/** Regression: a client that checked 49 accounts of each thousand was never restricted: 980 of 980 were answered. */
test('49 accounts of each of 20 thousands: slowed, then blocked, until no more account is near others', async () => {
  const client = await addClient('small-clusters');
  const clusters = Array.from({ length: 20 }, (_, block) =>
    Array.from({ length: 49 }, (_each, index) => 6_000_000_000 + block * 1_000 + index * 20),
  );
  const answers = await checkAll(client, clusters.flat());
  // Six clusters, and the tenth account of the seventh.
  assert.deepEqual([countOf(answers, 200), countOf(answers, 429)], [6 * 49 + 10, 980 - 6 * 49 - 10]);
  assert.deepEqual(
    logLinesOf(client, WARN).map(({ signal, restriction, figure }) => [signal, restriction, figure]),
    [
      ['clustered_numbers', 'slowed', 157],
      ['clustered_numbers', 'blocked', 304],
    ],
  );
  assertError(await check(client, 9_123_456_789), 'RATE_LIMIT_EXCEEDED', /look like account enumeration/);
  nowMs += PAUSE_MS;
  assert.equal((await check(client, 9_123_456_789)).status, 200, 'free after half an hour');
  assert.equal((await check(client, 6_000_000_999)).status, 200);
  assert.equal((await check(client, 9_223_456_789)).status, 429, 'the clusters of a day count until its end');
});

test('the payrolls of a day are not blocked: one of 199 sequential accounts and four of 45', async () => {
  const employer = await addClient('employer');
  const payrolls = [199, 45, 45, 45, 45].map((count, payroll) =>
    Array.from({ length: count }, (_, index) => 6_500_000_000 + payroll * 5_000 + index),
  );
  assert.equal(countOf(await checkAll(employer, payrolls.flat()), 200), 199 + 4 * 45);
});

suite('a validation', () => {
  const accountsFrom = (first: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ bank_code: 'BRI', account_number: String(first + index) }));

  /**
   * Regression: of 2,000 sequential numbers in a validation, 110 were answered before the validation was first paused.
   */
  test('of 2,000 sequential numbers is paused before any is answered, until the operator trusts the client', async () => {
    const client = await addClient('sequential-validation');
    const validations = validationsOf(service, client);
    const before = inquired.length;
    const created = dataOf<Validation>(await validations.sendRows(accountsFrom(7_100_000_000, 2_000)));
    const pausedMs = Date.parse(String(created['held_until'])) - Date.parse(String(created['created_at']));
    assert.equal(pausedMs, PAUSE_MS);
    assert.deepEqual(
      (await restrictionOf(client))?.signals.map(({ signal, level, figure }) => ({ signal, level, figure })),
      [{ signal: 'sequential_numbers', level: 'blocked', figure: 2_000 }],
    );
    // A later validation of another client has ended: the claims have passed over the paused one.
    const other = validationsOf(service, service.beta);
    await other.untilEnded(await other.create(accountsFrom(7_200_000_000, 1)));
    assert.equal((await validations.progress(created.validation_id)).results, 0);
    assert.equal(inquired.length - before, 1, 'only the account of the other validation was inquired about');

    await changeClient(service.app.database, client.clientId, 'trust');
    await resumePausedValidations(service.app.database, client.clientId);
    await service.app.clients.reload();
    assert.equal((await validations.untilEnded(created.validation_id)).counts['active'], 2_000 - 2);
  });

  test('of many small clusters is paused too', async () => {
    const validations = validationsOf(service, await addClient('clusters-validation'));
    const rows = Array.from({ length: 40 }, (_, block) => accountsFrom(7_300_000_000 + block * 1_000, 10)).flat();
    assert.notEqual(dataOf<Validation>(await validations.sendRows(rows))['held_until'], null);
  });

  test('of 200 sequential numbers, sent twice each, is slowed at most', async () => {
    const validations = validationsOf(service, await addClient('payroll-validation'));
    const payroll = accountsFrom(7_400_000_500, 200);
    const created = dataOf<Validation>(await validations.sendRows([...payroll, ...payroll]));
    assert.equal(created['held_until'], null);
    await eventually(
      'more accounts are answered than before it was slowed',
      async () => (await validations.progress(created.validation_id)).results > 2 * 50,
    );
    await validations.cancel(created.validation_id);
  });

  test('of accounts that the client has checked today is not paused, whatever their numbers are', async () => {
    const client = await addClient('again-validation');
    const payroll = accountsFrom(7_500_000_500, 400);
    await changeClient(service.app.database, client.clientId, 'trust');
    await service.app.clients.reload();
    await checkAll(
      client,
      payroll.map(({ account_number: account }) => account),
    );
    await changeClient(service.app.database, client.clientId, 'distrust');
    await service.app.clients.reload();
    const validations = validationsOf(service, client);
    assert.equal((await validations.untilEnded(await validations.create(payroll))).counts['active'], 400);
  });
});

suite('the accounts per day', () => {
  const account = (index: number): number => 2_000_000_000 + index * 1_000;

  test('are limited; the limit may be raised at any time, and survives a restart', async () => {
    const client = await addClient('limited', 20);
    const accounts = Array.from({ length: 20 }, (_, index) => account(index));
    assert.equal(countOf(await checkAll(client, accounts), 200), 20);
    const overLimit = await check(client, account(20));
    assertError(overLimit, 'RATE_LIMIT_EXCEEDED', /Too many different accounts in one day.*operator/);
    assert.ok(Number(overLimit.headers.get('retry-after')) <= 24 * 60 * 60);
    assert.equal((await check(client, account(0))).status, 200);
    assert.equal((await restrictionOf(client))?.accounts_today, 20);

    const limits = { 'check-account': 1_000_000, 'accounts-per-day': 30 };
    await setClientLimits(service.app.database, 'limited', limits);
    await service.app.clients.reload();
    for (let index = 20; index < 30; index += 1) assert.equal((await check(client, account(index))).status, 200);
    assertError(await check(client, account(30)), 'RATE_LIMIT_EXCEEDED');

    await service.close();
    service = await start();
    const again = await addClient('limited');
    let next = 31;
    await eventually(
      'the checks of today are restored',
      async () => (await check(again, account((next += 1)))).status === 429,
    );
    assert.ok(next < 40, 'restored within a few checks');
    assert.equal((await check(again, account(5))).status, 200);
  });

  /** Regression: with a jump of its wall clock by a day, a process counted anew, and its records had that day. */
  test('are those of the day of PostgreSQL, whatever the clock of the process shows', async ({ mock }) => {
    await service.close();
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    service = await start();
    const client = await addClient('jumping', 2);
    for (const index of [0, 1]) assert.equal((await check(client, account(index))).status, 200);
    mock.timers.setTime(Date.now() + 24 * 60 * 60_000);
    // The token from before has expired.
    const token = await logIn(service.url, client.clientId, client.clientSecret);
    assertError(await check({ ...client, token }, account(2)), 'RATE_LIMIT_EXCEEDED', /in one day/);
    const { query } = service.app.database;
    const audited = () =>
      query<{ is_right: boolean }>(
        `select checked_at between now() - interval '1 hour' and now() + interval '1 hour' as is_right
           from (select client_id, checked_at from tiba.account_checks
                  union all select client_id, checked_at from tiba.account_validation_rows) as checks
          where client_id = 'jumping'`,
      );
    const validations = validationsOf(service, { ...client, token });
    const rows = [account(0), 'no number'].map((number) => ({ bank_code: 'BRI', account_number: String(number) }));
    await validations.untilEnded(await validations.create(rows));
    // Three single checks, both rows, and the check of the first one.
    await eventually('all checks are recorded', async () => (await audited()).length === 6);
    assert.ok((await audited()).every(({ is_right: isRight }) => isRight));
  });
});
