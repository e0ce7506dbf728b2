import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { rsaKeys } from '../support/rsa-keys.ts';
import { send, testBanks } from '../support/service.ts';
import { type CountingBanks, startCountingBanks } from './counting-banks.ts';
import type { ServiceReady, ServiceSettings } from './service-process.ts';
import { dataOf, type Validation } from './validations.ts';

/** Set it in the environment for a larger run: ROWS=50000 npx node --test test/account-validations/killed.test.ts */
const ROWS = Number(process.env['ROWS'] ?? 1_500);
const KILLS = 3;
const BANKS = 10;
const IS_LONG = ROWS >= 20_000;
/** The quota of each bank: low enough that the quotas set the pace, and not the machine. */
const PER_SECOND = 30;
/**
 * The least share of what the quotas allow. With claims a second apart, 8 rows each, it is 0.27. Only a long run asks
 * for it: it is for a machine that does nothing else, and the suite runs on busy ones.
 */
const PACE_MIN = IS_LONG ? 0.95 : 0;
/** The rows of one bank that a killed process leaves in flight, and that may be delayed on their way. */
const IN_FLIGHT_MAX = 32;
const ABANDONED_MAX = KILLS * BANKS * IN_FLIGHT_MAX;
const PROGRAM = new URL('service-process.ts', import.meta.url);

interface Running extends ServiceReady {
  readonly readyMs: number;
  kill(): Promise<void>;
}

test(`${ROWS} rows, ${KILLS} kills: one inquiry for each account, one result for each row`, async (context) => {
  const bics = testBanks
    .list()
    .filter(({ accountNumberLength }) => accountNumberLength === undefined)
    .slice(0, BANKS)
    .map(({ bic }) => bic);
  const banks = await startCountingBanks(context, bics);
  const settings = await createSettings(context, banks);
  const first = await start(context, settings);
  const id = await createValidation(first, bics);
  const { service, upMs } = await runWithKills(context, { service: first, settings, banks, id });

  const validation = dataOf<Validation>(await get(service, `/api/v1/account-validations/${id}`));
  const { active = 0, no_verdict: withoutVerdict = 0 } = validation.counts;
  const inquiries = banks.total();
  const pace = inquiries / ((upMs / 1000) * PER_SECOND * BANKS);
  context.diagnostic(
    `${inquiries} inquiries in ${(upMs / 1000).toFixed(1)} s of service: ` +
      `${(pace * 100).toFixed(1)} % of what the quotas allow; ` +
      `at most ${banks.busiestSecond()} of ${PER_SECOND} a second at one bank; ` +
      `${withoutVerdict} of ${ROWS} rows without a verdict after ${KILLS} kills`,
  );
  // The bank measures time when inquiries arrive, so delayed ones may fall into the second of the next ones.
  assert.ok(banks.busiestSecond() <= PER_SECOND + IN_FLIGHT_MAX, `${banks.busiestSecond()} inquiries in one second`);
  assert.equal(Math.max(...banks.byAccount.values()), 1);
  assert.equal(active + withoutVerdict, ROWS);
  assert.ok(withoutVerdict <= ABANDONED_MAX, `${withoutVerdict} rows without a verdict`);
  assert.ok(pace >= PACE_MIN, `${pace} of what the quotas allow`);
  await assertResultsComplete(service, id);
});

async function createSettings(context: TestContext, { banks }: CountingBanks): Promise<ServiceSettings> {
  const database = await createTestDatabase();
  context.after(() => database.drop());
  return {
    connectionString: database.connection.connectionString ?? '',
    privateKey: rsaKeys().privateKey.export({ type: 'pkcs8', format: 'pem' }),
    perSecond: PER_SECOND,
    banks,
  };
}

async function createValidation(service: ServiceReady, bics: readonly string[]): Promise<string> {
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
  return dataOf<Validation>(created).validation_id;
}

interface ValidationRun {
  readonly service: Running;
  readonly settings: ServiceSettings;
  readonly banks: CountingBanks;
  readonly id: string;
}

/**
 * Kills and restarts the service several times while the validation runs, and waits for its end. `upMs` is how long the
 * service could send inquiries: from when it was ready until it was killed or had no more rows.
 */
async function runWithKills(
  context: TestContext,
  { service: first, settings, banks, id }: ValidationRun,
): Promise<{ readonly service: Running; readonly upMs: number }> {
  let service = first;
  let upMs = 0;
  let startMs = performance.now();
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await eventually('more inquiries were sent', () => banks.total() >= (ROWS * kill) / (KILLS + 1), 120_000);
    upMs += performance.now() - startMs;
    await service.kill();
    service = await start(context, settings);
    startMs = service.readyMs;
  }
  const progress = async () => dataOf<Validation>(await get(service, `/api/v1/account-validations/${id}`));
  // Requests for the progress slow the service down, so the banks are observed first.
  await eventually('nearly all inquiries were sent', () => banks.total() >= ROWS - ABANDONED_MAX, 120_000);
  await eventually('no row is waiting', async () => (await progress()).waiting.length === 0, 120_000);
  upMs += performance.now() - startMs;
  await eventually('the validation has ended', async () => (await progress()).state === 'COMPLETED', 60_000);
  return { service, upMs };
}

async function assertResultsComplete(service: ServiceReady, id: string): Promise<void> {
  const results = await get(service, `/api/v1/account-validations/${id}/results`, 'application/x-ndjson');
  const rows = results.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { sequence: number; row: number });
  assert.deepEqual(
    rows.map(({ sequence }) => sequence),
    Array.from({ length: ROWS }, (_, index) => index + 1),
  );
  assert.equal(new Set(rows.map(({ row }) => row)).size, ROWS);
  const { events } = dataOf<{ events: { type: string }[] }>(await get(service, '/api/v1/events'));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['account_validation.ended'],
  );
}

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
