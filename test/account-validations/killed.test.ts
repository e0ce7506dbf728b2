import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { send, testBanks } from '../support/service.ts';
import { startCountingBanks } from './counting-banks.ts';
import { dataOf, type Job } from './jobs.ts';
import type { ServiceReady, ServiceSettings } from './service-process.ts';

/** More by the environment: ROWS=50000 npx node --test test/account-validations/killed.test.ts */
const ROWS = Number(process.env['ROWS'] ?? 3_000);
const KILLS = 3;
const BANKS = 10;
const PER_SECOND = 100;
/** What is asked when no quota keeps anybody waiting says nothing. */
const JUDGED_ROWS_MIN = 20_000;
/** Of one bank: what a killed process leaves behind, and what may be held up on its way. */
const IN_HAND_MAX = 32;
const PROGRAM = new URL('service-process.ts', import.meta.url);

interface Running extends ServiceReady {
  readonly readyMs: number;
  kill(): Promise<void>;
}

test(`${ROWS} rows at ${BANKS} banks, ${KILLS} times killed: each account is asked about once, and each row has its result`, async (context) => {
  const bics = testBanks
    .list()
    .filter(({ accountNumberLength }) => accountNumberLength === undefined)
    .slice(0, BANKS)
    .map(({ bic }) => bic);
  const banks = await startCountingBanks(context, bics);
  const database = await createTestDatabase();
  context.after(() => database.drop());
  const { privateKey } = rsaKeys();
  const settings: ServiceSettings = {
    connectionString: database.connection.connectionString ?? '',
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    perSecond: PER_SECOND,
    banks: banks.banks,
  };

  let service = await start(context, settings);
  const accounts = Array.from({ length: ROWS }, (_, row) => ({
    bank_code: bics[row % BANKS],
    account_number: String(2_000_000_000 + row * 7_919),
  }));
  const created = await send(`${service.publicUrl}/api/v1/account-validations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ accounts }),
  });
  assert.equal(created.status, 202, created.text);
  const { validation_id: id } = dataOf<Job>(created);
  const look = () => get(service, `/api/v1/account-validations/${id}`);

  // From when it can ask until it is killed, or has nothing more to ask: how much it asked, and how much it may have.
  let upMs = 0;
  let begunMs = performance.now();
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await eventually('some more was asked', () => banks.total() >= (ROWS * kill) / (KILLS + 1), 120_000);
    upMs += performance.now() - begunMs;
    await service.kill();
    service = await start(context, settings);
    begunMs = service.readyMs;
  }
  // Looking costs the service something, so first the banks are looked at.
  const leftBehindMax = KILLS * BANKS * IN_HAND_MAX;
  await eventually('nearly all was asked', () => banks.total() >= ROWS - leftBehindMax, 120_000);
  await eventually('nothing waits', async () => dataOf<Job>(await look()).waiting.length === 0, 120_000);
  upMs += performance.now() - begunMs;
  await eventually('the job has ended', async () => dataOf<Job>(await look()).state === 'COMPLETED', 60_000);

  const { active = 0, no_verdict: withoutVerdict = 0 } = dataOf<Job>(await look()).counts;
  const asked = banks.total();
  const share = asked / ((upMs / 1000) * PER_SECOND * BANKS);
  context.diagnostic(
    `${asked} questions in ${(upMs / 1000).toFixed(1)} s of service: ${(share * 100).toFixed(1)} % of what the quotas allow; ` +
      `at most ${banks.busiestSecond()} of ${PER_SECOND} a second at one bank; ` +
      `${withoutVerdict} of ${ROWS} rows without a verdict after ${KILLS} kills`,
  );
  // The banks' clock is another: questions that were held up on their way may meet those of the next second.
  assert.ok(banks.busiestSecond() <= PER_SECOND + IN_HAND_MAX, `${banks.busiestSecond()} questions in one second`);
  assert.equal(Math.max(...banks.asked.values()), 1);
  assert.equal(active + withoutVerdict, ROWS);
  assert.ok(withoutVerdict <= leftBehindMax, `${withoutVerdict} rows without a verdict`);
  if (ROWS >= JUDGED_ROWS_MIN) assert.ok(share >= 0.95, `${share} of what the quotas allow`);

  const results = await get(service, `/api/v1/account-validations/${id}/results`, 'application/x-ndjson');
  const rows = results.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { sequence: number; row: number });
  assert.deepEqual(
    rows.map(({ sequence }) => sequence),
    accounts.map((_, index) => index + 1),
  );
  assert.equal(new Set(rows.map(({ row }) => row)).size, ROWS);
  const { events } = dataOf<{ events: { type: string }[] }>(await get(service, '/api/v1/events'));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['account_validation.ended'],
  );
});

const get = (service: ServiceReady, path: string, accept = 'application/json') =>
  send(service.publicUrl + path, { headers: { authorization: `Bearer ${service.token}`, accept } });

async function start(context: TestContext, settings: ServiceSettings): Promise<Running> {
  const child = fork(PROGRAM, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const kill = () => killed(child);
  context.after(kill);
  child.send(settings);
  const [ready] = (await once(child, 'message')) as [ServiceReady];
  return { ...ready, readyMs: performance.now(), kill };
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
