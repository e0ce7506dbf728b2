import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  claimRows,
  findQueues,
  releaseRows,
  type ValidationQueue,
} from '../../apps/server/src/postgres/account-validation-rows.ts';
import type { Database } from '../../apps/server/src/postgres/database.ts';
import { active, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { startTestService } from '../support/service.ts';
import { validationsOf } from './validations.ts';

test('a row that was released and claimed again is not released by its first claim', async (context) => {
  // The rail has no capacity, so the service itself claims no row.
  const limitsByRail = new Map([['only', { perSecond: null, perDay: 0, concurrencyMax: null, isShared: true }]]);
  const service = await startTestService({
    rails: [scriptedRail('only', () => active('BUDI'))],
    inquiries: { limitsByRail },
  });
  context.after(() => service.close());
  const { database } = service.app;
  await validationsOf(service).create([{ bank_code: 'BRI', account_number: '5550001112' }]);
  const queue = await onlyQueue(database);

  const claim = async () => (await claimRows(database, [{ ...queue, limit: 5 }]))[0];
  const first = await claim();
  assert.ok(first !== undefined);
  assert.equal(await claim(), undefined, 'it is claimed');
  await releaseRows(database, [first]);
  const second = await claim();
  assert.notEqual(second?.claimedAt, first.claimedAt);
  // The release is repeated, as when the outcome of the first one is unknown.
  await releaseRows(database, [first]);
  assert.equal(await claim(), undefined, 'it is still claimed');
});

async function onlyQueue(database: Database): Promise<ValidationQueue> {
  const [queue, ...others] = await findQueues(database);
  assert.ok(queue !== undefined && others.length === 0);
  return queue;
}

test('banks behind one rail share its capacity: no inquiry of a validation is rejected', async (context) => {
  const limitsByRail = new Map([['switch', { perSecond: 20, perDay: null, concurrencyMax: 10, isShared: true }]]);
  const rail = scriptedRail('switch', () => active('BUDI'));
  const service = await startTestService({ rails: [rail], inquiries: { limitsByRail } });
  context.after(() => service.close());
  const validations = validationsOf(service);
  const codes = ['BRI', 'BNI', 'MANDIRI', 'PERMATA'];
  const id = await validations.create(
    Array.from({ length: 48 }, (_, row) => ({
      bank_code: codes[row % codes.length],
      account_number: String(6_000_000_000 + row * 7_919),
    })),
  );
  const { counts } = await validations.untilEnded(id);
  assert.equal(counts['active'], 48);
  const metrics = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  assert.doesNotMatch(metrics, /^tiba_inquiries_not_sent_total\{/m);
});
