import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { active, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { eventually } from '../support/eventually.ts';
import { send, startTestService, type TestService } from '../support/service.ts';
import { VALKEY_MISSING } from '../support/valkey.ts';
import { spread, startSeveral } from './several-processes.ts';

const ACTIVE = active('BUDI SANTOSO');

/** The contract with a bank is with the operator, however many processes there are (docs/rails-file.md). */
describe('quotas of a rail over several processes', { skip: VALKEY_MISSING }, () => {
  test('no second holds more inquiries than the contract allows', async (t) => {
    const sentMs: number[] = [];
    const rail = scriptedRail('only', () => {
      sentMs.push(performance.now());
      return ACTIVE;
    });
    const limitsByRail = new Map([['only', { perSecond: 50, perDay: null, concurrencyMax: null, isShared: true }]]);
    const several = await startSeveral(4, { rails: [rail], inquiries: { limitsByRail } });
    t.after(several.close);
    const next = distantAccounts();
    const startedMs = performance.now();
    while (sentMs.length < 110 && performance.now() - startedMs < 30_000)
      await spread(several.services, { count: 100, inFlight: 32 }, (service) =>
        service.checkAccount({ bank_code: 'BRI', account_number: next() }),
      );
    assert.ok(sentMs.length >= 110, `${sentMs.length} inquiries: the quota is used`);
    for (const [index, atMs] of sentMs.entries()) {
      const later = sentMs[index + 50];
      assert.ok(later === undefined || later - atMs > 995, `51 inquiries within ${(later ?? 0) - atMs} ms`);
    }
  });

  test("a day's quota is used up once, also while Valkey is away, after it lost its data, and after a restart", async (t) => {
    let sent = 0;
    const rail = scriptedRail('only', () => {
      sent += 1;
      return ACTIVE;
    });
    const limitsByRail = new Map([['only', { perSecond: null, perDay: 200, concurrencyMax: null, isShared: true }]]);
    const options = { rails: [rail], inquiries: { limitsByRail } };
    const several = await startSeveral(2, options);
    t.after(several.close);
    const { services, valkey, database } = several;
    const next = distantAccounts();
    const check = (service: TestService) => service.checkAccount({ bank_code: 'BRI', account_number: next() });
    await spread(services, { count: 60, inFlight: 8 }, check);
    assert.equal(sent, 60);

    await valkey.command('FLUSHALL');
    await spread(services, { count: 40, inFlight: 8 }, check);
    await eventually('both are exact', async () => (await Promise.all(services.map(isExact))).every(Boolean));
    assert.equal(sent, 100);

    await valkey.kill();
    await spread(services, { count: 20, inFlight: 8 }, check);
    assert.equal(sent, 120);
    await valkey.restart();
    await eventually('both are exact', async () => (await Promise.all(services.map(isExact))).every(Boolean));
    const restarted = await startTestService({ ...options, database, settings: { valkeyUrl: valkey.url } });
    t.after(() => restarted.close());
    const answers = await spread([...services, restarted], { count: 120, inFlight: 8 }, check);
    assert.equal(sent, 200);
    assert.equal(answers.filter(({ status }) => status === 503).length, 40);
    assert.ok(Number(answers.at(-1)?.headers.get('retry-after')) > 0);
    const left = await quotaLeft(services[0] as TestService);
    assert.deepEqual(left, { second: null, day: 0 });
  });
});

/** Far apart, so that the enumeration guard sees no signal. */
function distantAccounts(): () => string {
  let last = 1_000_000_000;
  return () => String((last += 1_009));
}

async function quotaLeft(service: TestService): Promise<unknown> {
  const { token } = await service.addClient('operator', ['operator:read']);
  const headers = { authorization: `Bearer ${token}` };
  const { json } = await send(`${service.operatorUrl}/operator/v1/rails`, { headers });
  const { rails } = json.data as { rails: { quota_left: unknown }[] };
  return rails[0]?.quota_left;
}

async function isExact({ operatorUrl }: TestService): Promise<boolean> {
  return (await send(`${operatorUrl}/readyz`, {})).text.includes('"shared_limits":"ok"');
}
