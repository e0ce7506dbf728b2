import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../support/database.ts';
import { send, startTestService } from '../../support/service.ts';
import { NOT_FOUND, scriptedRail } from './scripted-rail.ts';

test('a restarted service continues with the remainder of the daily quota', async (context) => {
  const database = await createTestDatabase();
  const limitsByRail = new Map([['only', { perSecond: null, perDay: 10, concurrencyMax: null, isShared: true }]]);
  const start = () =>
    startTestService({ database, rails: [scriptedRail('only', () => NOT_FOUND)], inquiries: { limitsByRail } });

  const first = await start();
  for (let account = 0; account < 7; account += 1) {
    const { status } = await first.checkAccount({ bank_code: 'BRI', account_number: String(1_000_000 + account) });
    assert.equal(status, 200);
  }
  await first.close();

  const second = await start();
  context.after(async () => {
    await second.close();
    await database.drop();
  });
  const { token } = await second.addClient('operator', ['operator:read']);
  const headers = { authorization: `Bearer ${token}` };
  const { json } = await send(`${second.operatorUrl}/operator/v1/rails`, { headers });
  const { rails } = json.data as { rails: { quota_left: unknown }[] };
  assert.deepEqual(rails[0]?.quota_left, { second: null, day: 3 });
});
