import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { deleteEndedValidations } from '../../apps/server/src/postgres/account-validations.ts';
import { PROTECTION } from '../../apps/server/src/rails/resilience/settings.ts';
import { clientOf, countFetch } from '../client/test-client.ts';
import { active, NOT_FOUND, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { answer, answerActive, type BankAnswer, startScriptedBank } from '../rails/scripted-bank.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { dataOf, type Validation, validationsOf } from './validations.ts';

const keys = rsaKeys();

interface BankContext {
  readonly service: TestService;
  readonly validations: ReturnType<typeof validationsOf>;
  /** How many inquiries the bank has received. */
  inquiries(): number;
  /** How the bank answers from now on. */
  answer: BankAnswer;
}

async function startWithBank(
  context: TestContext,
  quota: { perSecond: number | null; perDay: number | null },
  protection = PROTECTION,
): Promise<BankContext> {
  const behavior = { answer: answerActive };
  const bank = await startScriptedBank({ inquiry: (request, response) => behavior.answer(request, response) });
  context.after(() => bank.close());
  const rail = bank.rail(keys);
  const limits = { ...quota, concurrencyMax: null, isShared: false };
  const service = await startTestService({
    rails: [rail],
    inquiries: { limitsByRail: new Map([[rail.name, limits]]), protection },
  });
  context.after(() => service.close());
  return Object.assign(behavior, {
    service,
    validations: validationsOf(service),
    inquiries: () => bank.inquiries.length,
  });
}

const NO_QUOTA = { perSecond: null, perDay: null };
/** Far enough apart not to be sequential numbers. */
const rowsOf = (count: number, first = 3_000_000_000) =>
  Array.from({ length: count }, (_, row) => ({
    bank_code: 'BCA',
    account_number: String(first + row * 7_919),
  }));

const unavailable: BankAnswer = (_request, response) =>
  answer(response, 503, { responseCode: '5031500', responseMessage: 'Service Unavailable' });

test('the rows of a bank that is down are shown as waiting, and are checked when it recovers', async (context) => {
  const bank = await startWithBank(context, NO_QUOTA);
  bank.answer = unavailable;
  const id = await bank.validations.create(rowsOf(200));
  await eventually('the bank is shown as down', async () => {
    const { waiting } = await bank.validations.progress(id);
    return waiting[0]?.['bank_status'] === 'DOWN';
  });
  const { waiting, counts } = await bank.validations.progress(id);
  assert.equal(waiting[0]?.['bank_code'], '014');
  // The rows whose inquiries were sent before the circuit breaker opened.
  assert.ok((counts['no_verdict'] ?? 0) < 50, `${counts['no_verdict']} without a verdict`);
  bank.answer = answerActive;
  const validation = await bank.validations.untilEnded(id);
  assert.equal((validation.counts['active'] ?? 0) + (validation.counts['no_verdict'] ?? 0), 200);
  assert.ok((validation.counts['active'] ?? 0) > 150);
});

test('rows over which a bank fails pause the validation of their client, and no other validation', async (context) => {
  const breaker = { ...PROTECTION.breaker, consecutiveFailuresMax: 3, openMinMs: 200, openMaxMs: 400 };
  const bank = await startWithBank(context, NO_QUOTA, { ...PROTECTION, breaker });
  bank.answer = (request, response) => (request.body.includes('"99') ? unavailable : answerActive)(request, response);
  const { service, validations } = bank;
  const ofBeta = validationsOf(service, service.beta);
  const failing = await validations.create(rowsOf(20, 9_900_000_000));
  const working = await ofBeta.create(rowsOf(60));
  assert.equal((await ofBeta.untilEnded(working)).counts['active'], 60);
  assert.equal((await validations.untilEnded(failing)).counts['no_verdict'], 20);
  const paused = service.logged.filter(({ msg }) => /of one client to this bank are paused/.test(String(msg)));
  assert.deepEqual([...new Set(paused.map(({ clientId }) => clientId))], ['alpha']);
});

test("a validation leaves capacity: a check rejected for the bank's quota succeeds when it is repeated", async (context) => {
  const { service, validations } = await startWithBank(context, { perSecond: 5, perDay: null });
  const id = await validations.create(rowsOf(200));
  await eventually('the validation has first results', async () => (await validations.progress(id)).results > 0);
  let rejected = 0;
  for (let check = 0; check < 5; check += 1) {
    const body = { bank_code: 'BCA', account_number: String(7_000_000_000 + check) };
    const first = await service.checkAccount(body);
    if (first.status === 200) continue;
    rejected += 1;
    assert.equal(first.headers.get('retry-after'), '1');
    await eventually(
      'there is capacity',
      async () => (await service.checkAccount(body)).status === 200,
      timeLimitMs(2_500),
    );
  }
  context.diagnostic(`${rejected} of 5 checks were rejected first`);
  await validations.cancel(id);
});

test('a cancelled validation sends no more inquiries, and its end is one event', async (context) => {
  const { validations, inquiries, service } = await startWithBank(context, { perSecond: 20, perDay: null });
  const id = await validations.create(rowsOf(500));
  await eventually('the validation has first results', async () => (await validations.progress(id)).results > 0);
  for (let again = 0; again < 2; again += 1) {
    const { state, ended_at: endedAt } = dataOf<Record<string, unknown>>(await validations.cancel(id));
    assert.equal(state, 'CANCELLED');
    assert.notEqual(endedAt, null);
  }
  const before = inquiries();
  const next = await validations.create(rowsOf(1));
  assert.equal((await validations.untilEnded(next)).state, 'COMPLETED');
  // The inquiries in flight end; after that, only the other validation sends one.
  assert.ok(inquiries() <= before + 9, `${inquiries() - before} more inquiries`);
  assert.equal((await validations.results(id)).length, (await validations.progress(id)).results);
  const { events } = dataOf<{ events: { data: unknown }[] }>(await service.get('/api/v1/events'));
  const ended = events.map(({ data }) => (data as Validation).validation_id);
  assert.deepEqual(ended.toSorted(), [id, next].toSorted());
});

/** Regression: the stream, and the client, ended at the cancellation, without the results of inquiries in flight. */
test('a reader who follows a cancelled validation gets the results of its inquiries in flight', async (context) => {
  const bank = await startWithBank(context, { perSecond: 20, perDay: null });
  const { promise: mayAnswer, resolve: answerAll } = Promise.withResolvers<void>();
  bank.answer = async (request, response) => {
    await mayAnswer;
    return answerActive(request, response);
  };
  const id = await bank.validations.create(rowsOf(500));
  await eventually('inquiries are in flight', () => bank.inquiries() > 0);
  await bank.validations.cancel(id);
  const followed = bank.validations.read(id, '/results?follow=true', 'application/x-ndjson');
  const sent = countFetch();
  const tiba = clientOf(bank.service, { fetch: sent.fetch });
  const byClient = Array.fromAsync(tiba.accountValidations.results(id, { follow: true }));
  await eventually('the client has read a page', () => sent.requests.some((each) => each.endsWith('/results')));
  // Both have seen meanwhile that the validation is cancelled.
  const cancelled = await bank.validations.progress(id);
  assert.equal(cancelled.results, 0);
  assert.ok(Number(cancelled['in_flight']) > 0);
  answerAll();
  const lines = (await followed).text.split('\n').filter((line) => line !== '');
  assert.ok(lines.length > 0);
  assert.equal((await byClient).length, lines.length);
  const ended = await bank.validations.progress(id);
  assert.deepEqual([ended.results, ended['in_flight']], [lines.length, 0]);
});

test("a day's quota: rows wait for tomorrow, and part of the quota is left to single checks", async (context) => {
  const { validations, inquiries, service } = await startWithBank(context, { perSecond: null, perDay: 80 });
  const id = await validations.create(rowsOf(100));
  await eventually('most of the quota is used', () => inquiries() >= 78);
  assert.equal((await validations.progress(id)).state, 'RUNNING');
  const single = await service.checkAccount({ bank_code: 'BCA', account_number: '7000000000' });
  assert.equal(single.status, 200);
  assert.equal(inquiries(), 79);
});

/** A client with a limit of accounts per day, at a bank that has none of the accounts. */
async function startWithLimit(context: TestContext, accountsPerDay: number) {
  const rail = scriptedRail('only', () => NOT_FOUND);
  const service = await startTestService({ rails: [rail] });
  context.after(() => service.close());
  const client = await service.addClient('limited', ['account:check'], { 'accounts-per-day': accountsPerDay });
  return { rail, validations: validationsOf(service, client) };
}

test('a validation of a few rows is paused too, and not retried in a loop', async (context) => {
  const { validations } = await startWithLimit(context, 1);
  const id = await validations.create(rowsOf(5));
  await eventually('the validation is paused', async () => {
    const { held_until: heldUntil, results } = await validations.progress(id);
    return heldUntil !== null && results === 1;
  });
  assert.equal(dataOf<Validation>(await validations.cancel(id)).state, 'CANCELLED');
});

test('the validation of a client at its limit shows until when it is paused, and loses no row', async (context) => {
  const { rail, validations } = await startWithLimit(context, 30);
  const id = await validations.create(rowsOf(50));
  await eventually('the validation is paused', async () => {
    const { held_until: heldUntil, results, state } = await validations.progress(id);
    return heldUntil !== null && results === 30 && state === 'RUNNING';
  });
  assert.equal(rail.inquiries.length, 30);
  assert.equal(dataOf<Validation>(await validations.cancel(id)).state, 'CANCELLED');
});

test('two processes share a validation: both send inquiries, and each account is inquired about once', async (context) => {
  const database = await createTestDatabase();
  const rails = [scriptedRail('shared', () => active('BUDI')), scriptedRail('shared', () => active('BUDI'))];
  const services: TestService[] = [];
  context.after(async () => {
    for (const service of services) await service.close();
    await database.drop();
  });
  for (const rail of rails) services.push(await startTestService({ database, rails: [rail] }));
  const validations = validationsOf(services[0] as TestService);
  const id = await validations.create(rowsOf(1_500));
  const { counts } = await validations.untilEnded(id);
  assert.equal(counts['active'], 1_500);
  for (const { inquiries } of rails) assert.ok(inquiries.length > 0, 'one process sent no inquiry');
  const accounts = rails.flatMap(({ inquiries }) => inquiries.map(({ account }) => account));
  assert.equal(accounts.length, 1_500);
  assert.equal(new Set(accounts).size, 1_500);
});

test('a validation that has ended is deleted after some days, with its rows', async (context) => {
  const { validations, service } = await startWithBank(context, NO_QUOTA);
  const id = await validations.create(rowsOf(30));
  await validations.untilEnded(id);
  const { database } = service.app;
  const [yesterday, tomorrow] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000)) as [Date, Date];
  assert.equal(await deleteEndedValidations(database, yesterday, 10), 0);
  assert.equal((await validations.results(id)).length, 30);
  while ((await deleteEndedValidations(database, tomorrow, 10)) > 0);
  assert.equal((await validations.read(id)).status, 404);
  assert.deepEqual(await database.query('select * from tiba.account_validation_rows'), []);
});

test('the rows of a bank without a rail end at once as UNSUPPORTED_BANK, and count as rows that cannot be checked', async (context) => {
  const rail = scriptedRail('only', () => active('SITI AMINAH'), { reaches: ({ bic }) => bic === 'CENAIDJA' });
  const service = await startTestService({ rails: [rail] });
  context.after(() => service.close());
  const validations = validationsOf(service);
  const rows = [...rowsOf(1), { bank_code: 'BRI', account_number: '123456789012345' }];
  const id = await validations.create(rows);
  const { state, counts } = await validations.untilEnded(id);
  assert.equal(state, 'COMPLETED');
  assert.deepEqual([counts['active'], counts['invalid'], counts['no_verdict']], [1, 1, 0]);
  const results = (await validations.results(id)).toSorted((one, other) => one.row - other.row);
  assert.deepEqual(
    results.map(({ status, error_code: code }) => [status, code]),
    [
      ['ACTIVE', null],
      [null, 'UNSUPPORTED_BANK'],
    ],
  );
  assert.match(
    String(results[1]?.['message']),
    /^Unsupported bank: its accounts cannot be checked here, so no inquiry was sent/,
  );
  assert.equal(rail.inquiries.length, 1);
});
