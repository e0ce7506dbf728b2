import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { changeClient, setClientLimits } from '../../apps/server/src/postgres/clients.ts';
import type { Rail } from '../../apps/server/src/rails/rail.ts';
import { assertError, assertSuccess } from '../contract/assertions.ts';
import { seededRandom } from '../rails/resilience/seed.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, send, startTestService, type TestClient, type TestService } from '../support/service.ts';
import { storedChecks } from './stored-checks.ts';

/** Against the harvesting of names, over HTTP: who goes through accounts is slowed, then refused, and nobody else is. */

const PAUSE_MS = 30 * 60_000;
const AT_ONCE = 4;

let database: TestDatabase;
let service: TestService;
let operator: TestClient;
let nowMs = 0;

/** It knows everybody but those whose number ends in 404. */
const asked: string[] = [];
const rail: Rail = {
  name: 'noting',
  reaches: () => true,
  async inquireAccount({ accountNumber }) {
    const number = accountNumber.reveal();
    asked.push(number);
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
});
after(async () => {
  await service?.close();
  await database?.drop();
});

const addClient = (clientId: string, accountsPerDay = 100_000): Promise<TestClient> =>
  service.addClient(clientId, ['account:check'], { 'check-account': 1_000_000, 'accounts-per-day': accountsPerDay });

const check = ({ token }: TestClient, account: number | string, bank = 'BRI'): Promise<Answer> =>
  service.checkAccount({ bank_code: bank, account_number: String(account) }, { token });

/** Some at a time, in their order. */
async function checkAll(client: TestClient, accounts: readonly (number | string)[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  const left = accounts.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const account of left) answers.push(await check(client, account));
    }),
  );
  return answers;
}

const countOf = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

interface Held {
  readonly client_id: string;
  readonly accounts_today: number;
  readonly signals: readonly { readonly signal: string; readonly level: string; readonly figure: number }[];
}

async function held(client: TestClient): Promise<Held | undefined> {
  const headers = { authorization: `Bearer ${operator.token}` };
  const answer = await send(`${service.operatorUrl}/operator/v1/enumeration`, { headers });
  assertSuccess(answer);
  const clients = answer.json.data?.['clients'] as Held[];
  return clients.find((each) => each.client_id === client.clientId);
}

const said = (client: TestClient, level: number): Record<string, unknown>[] =>
  service.logged.filter((line) => line['level'] === level && line['clientId'] === client.clientId && 'signal' in line);
const INFO = 30;
const WARN = 40;

test('1,000 account numbers, one after the other: slowed, then refused, seen, and free half an hour later', async () => {
  const harvester = await addClient('harvester');
  const neighbours = Array.from({ length: 1_000 }, (_, index) => 7_000_000_000 + index);
  const before = asked.length;
  const answers = await checkAll(harvester, neighbours);
  assert.equal(asked.length - before, 200, 'the bank was asked about so many');
  assert.deepEqual([countOf(answers, 200), countOf(answers, 429)], [200, 800]);
  const refused = await check(harvester, 7_000_000_999);
  assertError(refused, 'RATE_LIMIT_EXCEEDED', /look like account enumeration.*Retry-After.*operator/);
  assert.equal(refused.headers.get('retry-after'), String(PAUSE_MS / 1000));

  assert.equal((await check(harvester, 7_000_000_000)).status, 200, 'what it has asked, it may ask again');
  assert.equal((await check(service.beta, 7_000_000_500)).status, 200, 'others are not held');
  assert.deepEqual(
    (await held(harvester))?.signals.map(({ signal, level, figure }) => ({ signal, level, figure })),
    [{ signal: 'sequential_numbers', level: 'blocked', figure: 200 }],
  );
  assert.equal(await held(service.beta), undefined);
  assert.deepEqual(
    said(harvester, WARN).map(({ restriction, figure }) => [restriction, figure]),
    [
      ['slowed', 50],
      ['blocked', 200],
    ],
  );
  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  assert.match(metrics, /tiba_enumeration_restrictions_total\{signal="sequential_numbers",level="blocked"\} 1/);
  await eventually('each refusal has its record', async () => {
    const records = await storedChecks(database.connection);
    return (
      records.filter(({ client_id: id, outcome }) => id === 'harvester' && outcome === 'sequential_numbers').length ===
      801
    );
  });

  nowMs += PAUSE_MS;
  assert.equal((await check(harvester, 7_000_000_999)).status, 200);
  assert.equal(await held(harvester), undefined);
  assert.equal(said(harvester, INFO).length, 1);
});

test('a day as honest clients have it, with old accounts and a payroll, is not held', async (t) => {
  const honest = await addClient('honest');
  const random = seededRandom(t);
  const far = (): number => 10 ** 9 + Math.floor(random() * 8 * 10 ** 9);
  const payroll = Array.from({ length: 45 }, (_, index) => 5_000_000_000 + index);
  const accounts = Array.from({ length: 2_000 }, (_, index) => {
    if (index % 40 === 0) return payroll[index / 40] ?? far();
    return random() < 0.3 ? `${far()}404` : far();
  });
  const answers = await checkAll(honest, accounts);
  // And all over again: what has been asked today costs nothing.
  answers.push(...(await checkAll(honest, accounts.slice(0, 500))));
  assert.equal(countOf(answers, 200), 2_500);
  assert.equal(await held(honest), undefined);
  assert.deepEqual(said(honest, WARN), []);
});

test('accounts of which nearly none is there: refused, until the operator trusts the client', async (t) => {
  const guesser = await addClient('guesser');
  const random = seededRandom(t);
  const guesses = Array.from({ length: 250 }, () => `${10 ** 9 + Math.floor(random() * 8 * 10 ** 9)}404`);
  const answers = await checkAll(guesser, guesses);
  assert.ok(countOf(answers, 429) >= 40);
  assert.deepEqual(
    (await held(guesser))?.signals.map(({ signal, level }) => [signal, level]),
    [['not_found_ratio', 'blocked']],
  );
  await changeClient(service.app.database, 'guesser', 'trust');
  await service.app.clients.reload();
  assert.equal((await check(guesser, '9999999404')).status, 200);
  assert.equal(await held(guesser), undefined);
});

suite('the bound of a day', () => {
  const account = (index: number): number => 2_000_000_000 + index * 1_000;

  test('is refused beyond, may be raised while it runs, and does not begin anew with the process', async () => {
    const client = await addClient('bounded', 20);
    const accounts = Array.from({ length: 20 }, (_, index) => account(index));
    assert.equal(countOf(await checkAll(client, accounts), 200), 20);
    const refused = await check(client, account(20));
    assertError(refused, 'RATE_LIMIT_EXCEEDED', /Too many different accounts in one day.*operator/);
    assert.ok(Number(refused.headers.get('retry-after')) <= 24 * 60 * 60);
    assert.equal((await check(client, account(0))).status, 200);
    assert.equal((await held(client))?.accounts_today, 20);

    const limits = { 'check-account': 1_000_000, 'accounts-per-day': 30 };
    await setClientLimits(service.app.database, 'bounded', limits);
    await service.app.clients.reload();
    for (let index = 20; index < 30; index += 1) assert.equal((await check(client, account(index))).status, 200);
    assertError(await check(client, account(30)), 'RATE_LIMIT_EXCEEDED');

    await service.close();
    service = await start();
    const again = await addClient('bounded');
    let next = 31;
    await eventually('the day is known again', async () => (await check(again, account((next += 1)))).status === 429);
    assert.ok(next < 40, 'and soon');
    assert.equal((await check(again, account(5))).status, 200);
  });
});
