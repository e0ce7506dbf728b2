import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { atValkey } from '../../apps/server/src/valkey/connection.ts';
import { createSharedConcurrencyLimiter } from '../../apps/server/src/valkey/shared-concurrency.ts';
import { openSharedWindows, type SharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { createTransaction, feedChange } from '../long-poll/transactions.ts';
import { eventually } from '../support/eventually.ts';
import type { TestService } from '../support/service.ts';
import { startTestValkey, type TestValkey, VALKEY_MISSING } from '../support/valkey.ts';
import { type Cleanup, TIMEOUT_MS } from './limiter-processes.ts';
import { startSeveral } from './several-processes.ts';

const WAIT = { prefer: 'wait=30' };

test('requests of one client that wait are counted over all processes', { skip: VALKEY_MISSING }, async (t) => {
  const several = await startSeveral(2, { rails: [], longPoll: { openWaitsMax: 3 } });
  t.after(several.close);
  const [one, two] = several.services as [TestService, TestService];
  const transaction = await createTransaction(one);
  const wait = (service: TestService, token = service.alpha.token) =>
    service.get(transaction.path, { headers: WAIT, token });
  const waiting = [wait(one), wait(one), wait(two)];
  await eventually('three wait', () => one.app.longPollCount() + two.app.longPollCount() === 3);
  for (const service of [one, two]) {
    const { status, json } = await wait(service);
    assert.deepEqual([status, json.error_code], [429, 'RATE_LIMIT_EXCEEDED']);
  }
  await feedChange(one, transaction, { status: 'SUCCESS' });
  for (const { json } of await Promise.all(waiting)) assert.equal(json.data?.['status'], 'SUCCESS');
  const next = await createTransaction(two);
  const later = [one, two, two].map((service) => service.get(next.path, { headers: WAIT }));
  await eventually('three wait again', () => one.app.longPollCount() + two.app.longPollCount() === 3);
  await feedChange(two, next, { status: 'FAILED', failure_reason: 'OTHER' });
  for (const { status } of await Promise.all(later)) assert.equal(status, 200);
});

describe('what is open at the same time in several processes', { skip: VALKEY_MISSING }, () => {
  test('is bounded exactly at full speed, and what has ended makes room', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const processes = [await openProcess(t, valkey, 'one'), await openProcess(t, valkey, 'two')];
    const acquired = async (client = 'client'): Promise<number> => {
      const all = await Promise.all(
        Array.from({ length: 40 }, async (_each, index) => processes[index % 2]?.limiter.acquire(client, 25)),
      );
      return all.filter((isAcquired) => isAcquired === true).length;
    };
    assert.equal(await acquired(), 25);
    assert.equal(await acquired(), 0);
    // Regression: of a script that Valkey did not know yet, some calls ran late and set the number back.
    for (let turn = 0; turn < 20; turn += 1) {
      await valkey.command('SCRIPT', 'FLUSH');
      assert.equal(await acquired(`client ${turn}`), 25);
    }
    for (let time = 0; time < 5; time += 1) processes[0]?.limiter.release('client');
    let more = 0;
    await eventually('there is room for five', async () => (more += await acquired()) >= 5);
    assert.equal(more, 5);
    assert.deepEqual([processes[0]?.decidedAlone(), processes[1]?.decidedAlone()], [0, 0]);
  });

  test('is known again when Valkey has lost its data, and bounded while it is away', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const [one, two] = [await openProcess(t, valkey, 'one'), await openProcess(t, valkey, 'two')];
    for (let time = 0; time < 10; time += 1) assert.equal(await one.limiter.acquire('client', 10), true);
    await valkey.kill();
    await eventually('both notice', () => !one.windows.isPresent() && !two.windows.isPresent());
    assert.equal(await one.limiter.acquire('client', 10), false);
    let alone = 0;
    for (let time = 0; time < 10; time += 1) if (await two.limiter.acquire('client', 10)) alone += 1;
    assert.equal(alone, 5, 'its share');
    await valkey.restart();
    await eventually('both are back', () => one.windows.isPresent() && two.windows.isPresent());
    await eventually('both have told what they have open', async () => (await openInValkey(valkey)) === 15);
    for (const { limiter } of [one, two]) assert.equal(await limiter.acquire('client', 15), false);
  });

  test('in a process that was killed, counts until its lease ends', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const [killed, other] = [await openProcess(t, valkey, 'one', 300), await openProcess(t, valkey, 'two', 300)];
    assert.equal(await killed.limiter.acquire('client', 1), true);
    assert.equal(await other.limiter.acquire('client', 1), false);
    await eventually('the lease was renewed', async () => (await leaseEndMs(valkey)) > Date.now() + 250);
    killed.windows.close();
    await eventually('its lease has ended', async () => other.limiter.acquire('client', 1));
  });
});

interface TestProcess {
  readonly windows: SharedWindows;
  readonly limiter: ReturnType<typeof createSharedConcurrencyLimiter>;
  readonly decidedAlone: () => number;
}

async function openProcess(t: Cleanup, { url }: TestValkey, processId: string, leaseMs = 15_000): Promise<TestProcess> {
  const windows = openSharedWindows({
    ...atValkey({ url, cluster: false }),
    timeoutMs: TIMEOUT_MS,
    onChange: () => {},
  });
  t.after(windows.close);
  await eventually('valkey is present', windows.isPresent);
  let alone = 0;
  const limiter = createSharedConcurrencyLimiter({
    windows,
    name: 'open',
    processId,
    liveProcesses: () => 2,
    onDecidedAlone: () => void (alone += 1),
    leaseMs,
  });
  return { windows, limiter, decidedAlone: () => alone };
}

const fieldsOf = async ({ command }: TestValkey): Promise<string[]> =>
  (await command('HVALS', 'tiba:{limits:0}:open client')) as string[];

async function openInValkey(valkey: TestValkey): Promise<number> {
  const fields = await fieldsOf(valkey);
  return fields.reduce((sum, field) => sum + Number(field.split(' ')[0]), 0);
}

async function leaseEndMs(valkey: TestValkey): Promise<number> {
  const [field = '0 0'] = await fieldsOf(valkey);
  return Number(field.split(' ')[1]);
}
