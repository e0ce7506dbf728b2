import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { deleteEndedValidations } from '../../apps/server/src/postgres/account-validations.ts';
import { active, NOT_FOUND, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { answer, answerActive, type BankAnswer, startScriptedBank } from '../rails/scripted-bank.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { dataOf, type Job, jobsOf } from './jobs.ts';

const keys = rsaKeys();

interface Stage {
  readonly service: TestService;
  readonly jobs: ReturnType<typeof jobsOf>;
  /** How often the bank was asked. */
  asked(): number;
  /** How the bank answers from now on. */
  answer: BankAnswer;
}

async function open(context: TestContext, quota: { perSecond: number | null; perDay: number | null }): Promise<Stage> {
  const stage = { answer: answerActive };
  const bank = await startScriptedBank({ inquiry: (request, response) => stage.answer(request, response) });
  context.after(() => bank.close());
  const rail = bank.rail(keys);
  const contract = { ...quota, concurrencyMax: null, isShared: false };
  const service = await startTestService({
    rails: [rail],
    inquiries: { contracts: new Map([[rail.name, contract]]) },
  });
  context.after(() => service.close());
  return Object.assign(stage, { service, jobs: jobsOf(service), asked: () => bank.inquiries.length });
}

const NO_QUOTA = { perSecond: null, perDay: null };
/** Far enough from each other not to look like a collection. */
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, row) => ({
    bank_code: 'BCA',
    account_number: String(3_000_000_000 + row * 7_919),
  }));

const unavailable: BankAnswer = (_request, response) =>
  answer(response, 503, { responseCode: '5031500', responseMessage: 'Service Unavailable' });

test('a bank that is down keeps its rows waiting, and the job says so; they are asked about when it is back', async (context) => {
  const stage = await open(context, NO_QUOTA);
  stage.answer = unavailable;
  const id = await stage.jobs.create(rowsOf(200));
  await eventually('the bank is seen to be down', async () => {
    const { waiting } = await stage.jobs.look(id);
    return waiting[0]?.['bank_status'] === 'DOWN';
  });
  const { waiting, counts } = await stage.jobs.look(id);
  assert.equal(waiting[0]?.['bank_code'], '014');
  // Those that it was asked about before it was given a rest.
  assert.ok((counts['no_verdict'] ?? 0) < 50, `${counts['no_verdict']} without a verdict`);
  stage.answer = answerActive;
  const job = await stage.jobs.untilEnded(id);
  assert.equal((job.counts['active'] ?? 0) + (job.counts['no_verdict'] ?? 0), 200);
  assert.ok((job.counts['active'] ?? 0) > 150);
});

test("a job leaves room: whoever was refused for the bank's quota is answered when he comes again", async (context) => {
  const { service, jobs } = await open(context, { perSecond: 5, perDay: null });
  const id = await jobs.create(rowsOf(200));
  await eventually('the job has begun', async () => (await jobs.look(id)).results > 0);
  let refused = 0;
  for (let check = 0; check < 5; check += 1) {
    const body = { bank_code: 'BCA', account_number: String(7_000_000_000 + check) };
    const first = await service.checkAccount(body);
    if (first.status === 200) continue;
    refused += 1;
    assert.equal(first.headers.get('retry-after'), '1');
    await eventually('there is room', async () => (await service.checkAccount(body)).status === 200, 2_500);
  }
  context.diagnostic(`${refused} of 5 checks were refused first`);
  await jobs.cancel(id);
});

test('cancelled, a job asks no more, and its end is told once', async (context) => {
  const { jobs, asked, service } = await open(context, { perSecond: 20, perDay: null });
  const id = await jobs.create(rowsOf(500));
  await eventually('the job has begun', async () => (await jobs.look(id)).results > 0);
  for (let again = 0; again < 2; again += 1) {
    const { state, ended_at: endedAt } = dataOf<Record<string, unknown>>(await jobs.cancel(id));
    assert.equal(state, 'CANCELLED');
    assert.notEqual(endedAt, null);
  }
  const before = asked();
  const next = await jobs.create(rowsOf(1));
  assert.equal((await jobs.untilEnded(next)).state, 'COMPLETED');
  // What was being asked about is let through; then only the other job's.
  assert.ok(asked() <= before + 9, `${asked() - before} more questions`);
  assert.equal((await jobs.results(id)).length, (await jobs.look(id)).results);
  const { events } = dataOf<{ events: { data: unknown }[] }>(await service.get('/api/v1/events'));
  const told = events.map(({ data }) => (data as Job).validation_id);
  assert.deepEqual(told.toSorted(), [id, next].toSorted());
});

test("a day's quota: the rest waits for tomorrow, and some of the quota is left to single checks", async (context) => {
  const { jobs, asked, service } = await open(context, { perSecond: null, perDay: 80 });
  const id = await jobs.create(rowsOf(100));
  await eventually('most of the quota is used', () => asked() >= 78);
  assert.equal((await jobs.look(id)).state, 'RUNNING');
  const single = await service.checkAccount({ bank_code: 'BCA', account_number: '7000000000' });
  assert.equal(single.status, 200);
  assert.equal(asked(), 79);
});

/** A client that may ask about so many accounts a day, of a bank that knows none of them. */
async function openBounded(context: TestContext, accountsPerDay: number) {
  const rail = scriptedRail('only', () => NOT_FOUND);
  const service = await startTestService({ rails: [rail] });
  context.after(() => service.close());
  const client = await service.addClient('bounded', ['account:check'], { 'accounts-per-day': accountsPerDay });
  return { rail, jobs: jobsOf(service, client) };
}

test('a job of a few rows is held too, and not tried again and again', async (context) => {
  const { jobs } = await openBounded(context, 1);
  const id = await jobs.create(rowsOf(5));
  await eventually('the job is held', async () => {
    const { held_until: heldUntil, results } = await jobs.look(id);
    return heldUntil !== null && results === 1;
  });
  assert.equal(dataOf<Job>(await jobs.cancel(id)).state, 'CANCELLED');
});

test('a client that is over a bound of its checks: the job says until when it is held, and nothing is lost', async (context) => {
  const { rail, jobs } = await openBounded(context, 30);
  const id = await jobs.create(rowsOf(50));
  await eventually('the job is held', async () => {
    const { held_until: heldUntil, results, state } = await jobs.look(id);
    return heldUntil !== null && results === 30 && state === 'RUNNING';
  });
  assert.equal(rail.inquiries.length, 30);
  assert.equal(dataOf<Job>(await jobs.cancel(id)).state, 'CANCELLED');
});

test('two processes share a job: both ask, and each account is asked about once', async (context) => {
  const database = await createTestDatabase();
  const rails = [scriptedRail('shared', () => active('BUDI')), scriptedRail('shared', () => active('BUDI'))];
  const services: TestService[] = [];
  context.after(async () => {
    for (const service of services) await service.close();
    await database.drop();
  });
  for (const rail of rails) services.push(await startTestService({ database, rails: [rail] }));
  const jobs = jobsOf(services[0] as TestService);
  const id = await jobs.create(rowsOf(1_500));
  const { counts } = await jobs.untilEnded(id);
  assert.equal(counts['active'], 1_500);
  for (const { inquiries } of rails) assert.ok(inquiries.length > 0, 'one of them did nothing');
  const accounts = rails.flatMap(({ inquiries }) => inquiries.map(({ account }) => account));
  assert.equal(accounts.length, 1_500);
  assert.equal(new Set(accounts).size, 1_500);
});

test('what has ended is forgotten after some days, rows and all', async (context) => {
  const { jobs, service } = await open(context, NO_QUOTA);
  const id = await jobs.create(rowsOf(30));
  await jobs.untilEnded(id);
  const { database } = service.app;
  const [yesterday, tomorrow] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000)) as [Date, Date];
  assert.equal(await deleteEndedValidations(database, yesterday, 10), false);
  assert.equal((await jobs.results(id)).length, 30);
  while (await deleteEndedValidations(database, tomorrow, 10));
  assert.equal((await jobs.read(id)).status, 404);
  assert.deepEqual(await database.query('select * from tiba.account_validation_rows'), []);
});

test('the rows of a bank that no rail reaches end at once, and say that it was not asked', async (context) => {
  const rail = scriptedRail('only', () => active('SITI AMINAH'), { reaches: ({ bic }) => bic === 'CENAIDJA' });
  const service = await startTestService({ rails: [rail] });
  context.after(() => service.close());
  const jobs = jobsOf(service);
  const rows = [...rowsOf(1), { bank_code: 'BRI', account_number: '123456789012345' }];
  const id = await jobs.create(rows);
  assert.equal((await jobs.untilEnded(id)).state, 'COMPLETED');
  const results = (await jobs.results(id)).toSorted((one, other) => one.row - other.row);
  assert.deepEqual(
    results.map(({ status, error_code: code }) => [status, code]),
    [
      ['ACTIVE', null],
      [null, 'SERVICE_UNAVAILABLE'],
    ],
  );
  assert.match(
    String(results[1]?.['message']),
    /^Accounts of this bank cannot be checked here, so the bank was not asked/,
  );
  assert.equal(rail.inquiries.length, 1);
});
