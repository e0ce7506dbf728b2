import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSharedVerdicts } from '../../apps/server/src/account-checks/shared-verdicts.ts';
import type { SharedCache } from '../../apps/server/src/valkey/shared-cache.ts';
import { active, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { eventually } from '../support/eventually.ts';
import type { TestService } from '../support/service.ts';
import { VALKEY_MISSING } from '../support/valkey.ts';
import { startSeveral } from './several-processes.ts';

const NAME = 'SITI RAHAYU';
const ACCOUNT = '7700123456';

test('a verdict that one process found is used by another, and Valkey sees no name', {
  skip: VALKEY_MISSING,
}, async (t) => {
  const rail = scriptedRail('only', () => active(NAME));
  const several = await startSeveral(2, { rails: [rail], settings: { verdictSeconds: 60 } });
  t.after(several.close);
  const { services, valkey } = several;
  const [one, two] = services as [TestService, TestService];
  const check = (service: TestService, maxAge: number, token = service.alpha.token) =>
    service.checkAccount(
      { bank_code: 'BRI', account_number: ACCOUNT },
      { token, headers: { 'cache-control': `max-age=${maxAge}` } },
    );
  const first = await check(one, 30);
  assert.equal(first.headers.get('age'), null);
  let second = await check(two, 30);
  // It is written after the answer.
  await eventually('the other process has it', async () => {
    if (second.headers.get('age') === null) second = await check(two, 30);
    return second.headers.get('age') !== null;
  });
  assert.deepEqual(second.json.data, first.json.data);
  const inquiries = rail.inquiries.length;
  await check(two, 30, two.beta.token);
  assert.equal(rail.inquiries.length, inquiries + 1, 'not for another client');

  const keys = (await valkey.command('KEYS', 'tiba:*verdicts *')) as string[];
  assert.ok(keys.length > 0);
  for (const key of keys) {
    const value = String(await valkey.command('GET', key));
    for (const text of [key, value, Buffer.from(value, 'base64').toString('latin1')])
      for (const secret of [NAME, ACCOUNT, 'alpha', 'ACTIVE']) assert.ok(!text.includes(secret), 'sealed');
    assert.ok(Number(await valkey.command('PTTL', key)) <= 60_000);
  }

  await valkey.kill();
  await check(one, 30);
  assert.ok((await check(one, 30)).headers.get('age') !== null, 'each process has its own meanwhile');
});

test('a verdict does not open in the place of another, after a change, or younger than it is', async () => {
  const values = new Map<string, string>();
  const cache: SharedCache = {
    put: (key, value) => void values.set(key, value),
    find: async (key) => {
      const value = values.get(key);
      return value === undefined ? null : { value, leftMs: 60_000 };
    },
    isPresent: () => true,
  };
  let nowMs = 1_800_000_000_000;
  const options = { cache, dataKey: Buffer.alloc(32, 7), ttlSeconds: 60, wallClock: () => nowMs };
  const verdicts = createSharedVerdicts(options);
  const outcome = { kind: 'verdict', verdict: { status: 'ACTIVE', accountName: NAME }, railCode: '2001600' } as const;
  verdicts.put('alpha', 'a'.repeat(32), outcome);
  const [[slot = '', value = ''] = []] = values;
  nowMs += 7_100;
  assert.deepEqual(await verdicts.find('alpha', 'a'.repeat(32)), { outcome, ageSeconds: 8 });
  const otherKey = createSharedVerdicts({ ...options, dataKey: Buffer.alloc(32, 8) });
  assert.equal(await otherKey.find('alpha', 'a'.repeat(32)), null);
  verdicts.put('alpha', 'b'.repeat(32), outcome);
  for (const key of values.keys()) values.set(key, value);
  assert.equal(await verdicts.find('alpha', 'b'.repeat(32)), null, 'in the place of another account');
  for (const changed of [`A${value.slice(1)}`, value.slice(0, 20), '', 'x']) {
    values.set(slot, changed);
    assert.equal(await verdicts.find('alpha', 'a'.repeat(32)), null);
  }
});
