import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../callbacks/endpoints-harness.ts';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { type CheckingService, openDatabase, startCheckingService, startStoppableBank } from './stoppable-bank.ts';

/** What one process finds about a bank reaches the others through PostgreSQL, without Valkey. */

/** As in production: a process has the time to hear that the bank answers another one. */
const SLOW_AVAILABILITY = { intervalMs: 200, stableMs: 3_000 };

const statusAt = async ({ service, token }: CheckingService): Promise<unknown> =>
  (await call(service, 'GET', '/api/v1/banks/BCA', { token })).json.data?.['status'];

const breakerAt = ({ service }: CheckingService): string[] =>
  service.logged
    .map(({ msg }) => String(msg))
    .filter((msg) => msg.startsWith('circuit breaker'))
    .map((msg) => msg.split(':')[0] as string);

test('a failing bank is on probation in all processes within a second, and DOWN after one inquiry of each', async (context) => {
  const database = await openDatabase(context);
  const bank = await startStoppableBank(context);
  const [one, two] = [
    await startCheckingService(context, database, bank),
    await startCheckingService(context, database, bank),
  ];
  for (const each of [one, two]) await each.check();
  bank.isStopped = true;
  await one.checkUntil('DOWN at one', async () => (await statusAt(one)) === 'DOWN');
  const startedMs = performance.now();
  await eventually('the other knows', () => breakerAt(two).length > 0);
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < timeLimitMs(1_000), `the other knows after ${Math.round(tookMs)} ms`);
  assert.deepEqual(breakerAt(two), ['circuit breaker half open']);
  await two.check();
  assert.deepEqual(breakerAt(two), ['circuit breaker half open', 'circuit breaker opened']);

  bank.isStopped = false;
  await one.checkUntil('UP at one', async () => (await statusAt(one)) === 'UP');
  await two.checkUntil('UP at the other', async () => (await statusAt(two)) === 'UP');
  const stored = 'select bic from tiba.bank_findings';
  await eventually('nothing is left to tell', async () => (await one.service.app.database.query(stored)).length === 0);
});

test('a process whose own way to the bank is broken takes it from no other, and causes no event', async (context) => {
  const database = await openDatabase(context);
  const [reachable, unreachable] = [await startStoppableBank(context), await startStoppableBank(context)];
  const healthy = await startCheckingService(context, database, reachable, SLOW_AVAILABILITY);
  const broken = await startCheckingService(context, database, unreachable, SLOW_AVAILABILITY);
  unreachable.isStopped = true;
  let refused = 0;
  const checkBoth = async (): Promise<void> => {
    await broken.check();
    const before = reachable.inquiryCount();
    await healthy.check();
    if (reachable.inquiryCount() === before) refused += 1;
  };
  await eventually('the broken one says so', async () => {
    await checkBoth();
    return broken.service.logged.some(({ msg }) => String(msg).startsWith('this bank answers other processes'));
  });
  assert.equal(await statusAt(broken), 'DEGRADED');
  // The status would be published after three seconds. Another bank's, which fails later, proves that they have passed.
  reachable.isStopped = false;
  await eventually('another bank is DOWN', async () => {
    await checkBoth();
    await broken.check('BRI');
    return (await healthy.events()).length > 0;
  });
  assert.deepEqual(
    (await healthy.events()).map(({ event_id: id }) => id),
    ['evt_BRINIDJA_1'],
  );
  assert.equal(refused, 0);
  assert.equal(await statusAt(healthy), 'UP');
  await broken.service.close();
  await eventually('its findings end with it', async () => {
    const rows = await healthy.service.app.database.query('select bic from tiba.bank_findings');
    return rows.length === 0;
  });
});
