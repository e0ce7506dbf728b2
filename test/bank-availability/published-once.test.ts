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

/** However many processes there are, a bank's change is told once. */

const isDown = async ({ service, token }: CheckingService): Promise<boolean> =>
  (await call(service, 'GET', '/api/v1/banks/BCA', { token })).json.data?.['status'] === 'DOWN';

test('several processes tell it once, and one that is started while the bank is DOWN tells that it is UP', async (context) => {
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
  // The second has not been asked since, so the bank is DOWN for it. That is old, and no news; when it has told of
  // another bank, it has had time to say so.
  assert.ok(await isDown(second));
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
