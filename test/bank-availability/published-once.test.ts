import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from '../callbacks/endpoints-harness.ts';
import { eventually } from '../support/eventually.ts';
import {
  type CheckingService,
  namesOf,
  openDatabase,
  startCheckingService,
  startStoppableBank,
} from './stoppable-bank.ts';

/** A bank's change is published once, whatever the number of processes. */

const statusAt = async ({ service, token }: CheckingService): Promise<unknown> =>
  (await call(service, 'GET', '/api/v1/banks/BCA', { token })).json.data?.['status'];
const isDown = async (checking: CheckingService): Promise<boolean> => (await statusAt(checking)) === 'DOWN';

test('several processes publish a change once, also one that was started while the bank was DOWN', async (context) => {
  const database = await openDatabase(context);
  const bank = await startStoppableBank(context);
  const first = await startCheckingService(context, database, bank);
  const second = await startCheckingService(context, database, bank);
  bank.isStopped = true;
  for (const each of [first, second]) await each.checkUntil('DOWN', () => isDown(each));
  await first.untilEvents(1);
  await first.service.close();

  const third = await startCheckingService(context, database, bank);
  await third.checkUntil('DOWN', () => isDown(third));
  bank.isStopped = false;
  await third.untilEvents(2);
  // The second has made no inquiry since, so its circuit breaker is open. That is older than the published status and
  // is not published; once it has published a change of another bank, it has had the time to do so.
  assert.equal(await statusAt(second), 'DEGRADED');
  bank.isStopped = true;
  await eventually('another bank is DOWN', async () => {
    await second.check('BRI');
    return (await third.events()).length > 2;
  });
  assert.deepEqual(namesOf(await third.events()), [
    ['evt_CENAIDJA_1', 'bank.down'],
    ['evt_CENAIDJA_2', 'bank.up'],
    ['evt_BRINIDJA_1', 'bank.down'],
  ]);
});
