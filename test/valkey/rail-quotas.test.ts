import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createDayCount } from '../../apps/server/src/rails/resilience/quota.ts';
import { createSharedQuota, type SharedQuota } from '../../apps/server/src/rails/resilience/shared-quota.ts';
import { createSlidingWindow } from '../../apps/server/src/rate-limit/sliding-window.ts';
import { atValkey } from '../../apps/server/src/valkey/connection.ts';
import { createSharedCounter } from '../../apps/server/src/valkey/shared-counter.ts';
import { openSharedWindows, type SharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { active, scriptedRail } from '../rails/resilience/scripted-rail.ts';
import { eventually } from '../support/eventually.ts';
import { send, startTestService, type TestService } from '../support/service.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { startTestValkey, VALKEY_MISSING } from '../support/valkey.ts';
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
    while (sentMs.length < 110 && performance.now() - startedMs < timeLimitMs(30_000))
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

  test('a process that used up its share while Valkey was away goes on when it is back', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const { windows, quota, advance } = await openQuota(t, valkey.url, 10);
    assert.equal(await reserved(quota, 2), 2);
    await valkey.kill();
    await eventually('valkey is away', () => !windows.isPresent());
    assert.equal(await reserved(quota, 8), 4, 'its share of the 8 that were left');
    assert.equal(quota.waitMs(0), 1_000);
    await valkey.restart();
    await eventually('valkey is present', windows.isPresent);
    advance(1_000);
    assert.equal(quota.waitMs(1_000), 0);
    assert.equal(await reserved(quota, 8), 4, 'the rest of the day');
    assert.equal(quota.waitMs(1_000), DAY_LEFT_MS, 'used up until midnight in Jakarta');
  });

  test('while Valkey is away, an idle process grants its share of what others had left', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const busy = await openQuota(t, valkey.url, 200);
    const idle = await openQuota(t, valkey.url, 200);
    assert.equal(await reserved(busy.quota, 190), 190);
    await eventually('the idle process knows', () => idle.quota.left(0).day === 10);
    await valkey.kill();
    await eventually('both notice', () => !busy.windows.isPresent() && !idle.windows.isPresent());
    assert.equal(await reserved(idle.quota, 20), 5);
    assert.equal(await reserved(busy.quota, 20), 5);
  });
});

const DAY_LEFT_MS = 12 * 60 * 60 * 1_000;

/** What one of two processes has, at noon in Jakarta; its own clock begins at 0. */
async function openQuota(t: Cleanup, url: string, perDay: number): Promise<TestQuota> {
  const windows = openSharedWindows({
    ...atValkey({ url, cluster: false }),
    timeoutMs: timeLimitMs(1_000),
    onChange: () => {},
  });
  t.after(windows.close);
  await eventually('valkey is present', windows.isPresent);
  let nowMs = 0;
  const clock = (): number => nowMs;
  const liveProcesses = (): number => 2;
  const day = createSharedCounter({
    windows,
    name: 'day',
    liveProcesses,
    onDecidedAlone: () => {},
    lifetimeMs: 60_000,
  });
  const quota = createSharedQuota(
    { perSecond: null, perDay },
    { second: createSlidingWindow(clock), day, liveProcesses, clock },
    { rail: 'only', wallMs: () => Date.parse('2026-03-02T12:00:00+07:00'), dayCount: createDayCount() },
  );
  return { windows, quota, advance: (ms) => void (nowMs += ms) };
}

interface TestQuota {
  readonly windows: SharedWindows;
  readonly quota: SharedQuota;
  readonly advance: (ms: number) => void;
}

interface Cleanup {
  after(action: () => unknown): void;
}

/** How many of `count` inquiries the quota allowed. */
async function reserved(quota: SharedQuota, count: number): Promise<number> {
  let allowed = 0;
  for (let index = 0; index < count; index += 1) if (await quota.reserve()) allowed += 1;
  return allowed;
}

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
