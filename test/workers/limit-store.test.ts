import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDailyInquiries } from '../../apps/server/src/postgres/daily-inquiries.ts';
import { createSharedQuota } from '../../apps/server/src/rails/resilience/shared-quota.ts';
import { createSlidingWindow } from '../../apps/server/src/rate-limit/sliding-window.ts';
import { createSharedCache } from '../../apps/server/src/valkey/shared-cache.ts';
import { createSharedConcurrencyLimiter } from '../../apps/server/src/valkey/shared-concurrency.ts';
import { createSharedCounter } from '../../apps/server/src/valkey/shared-counter.ts';
import { createSharedLimiter } from '../../apps/server/src/valkey/shared-limiter.ts';
import { createSharedLog } from '../../apps/server/src/valkey/shared-log.ts';
import { openSharedWindows, type SharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { createLimitStore, type LimitStore, operationOf } from '../../apps/server/src/workers/limit-store.ts';
import { limiterConformance } from '../rate-limit/limiter-conformance.ts';
import { eventually } from '../support/eventually.ts';
import { startTestService } from '../support/service.ts';

/** What the parent of several processes counts for them, without the processes (several-processes.test.ts has them). */

interface TestPlace {
  readonly windows: SharedWindows;
  /** While it is true, nothing is answered. */
  isFrozen: boolean;
}

async function openPlace(store: LimitStore, clock?: () => number): Promise<TestPlace> {
  const run = async ({ lua }: { lua: string }, keys: readonly string[], args: readonly (string | number)[]) => {
    const operation = operationOf(lua);
    assert.ok(operation !== undefined);
    if (place.isFrozen) return new Promise<never>(() => {});
    // As it arrives by JSON.
    return JSON.parse(JSON.stringify(store.run(operation, keys, args))) as unknown;
  };
  const windows = openSharedWindows({
    cluster: false,
    open({ onReady }) {
      setImmediate(onReady);
      return { run, runInOrder: run, reconnect() {}, close() {} };
    },
    onChange: () => {},
    ...(clock === undefined ? {} : { clock }),
  });
  const place: TestPlace = { windows, isFrozen: false };
  await eventually('the place is present', windows.isPresent);
  after(windows.close);
  return place;
}

const limiterOf = ({ windows }: TestPlace, alone: () => void, liveProcesses = 2, clock = () => performance.now()) =>
  createSharedLimiter({ windows, name: 'requests', liveProcesses: () => liveProcesses, onDecidedAlone: alone, clock });

let nowMs = 1_000_000;
const { windows: testWindows } = await openPlace(createLimitStore(), () => nowMs);
let limiters = 0;
limiterConformance(
  'of several processes with a parent',
  () => ({
    limiter: createSharedLimiter({
      windows: testWindows,
      name: `limiter ${(limiters += 1)}`,
      liveProcesses: () => 1,
      onDecidedAlone: () => assert.fail('the parent was away'),
      clock: () => nowMs,
    }),
    advance: (ms) => {
      nowMs += ms;
    },
  }),
  { runs: 3 },
);

test('while the parent does not answer, each process grants its share and tells the parent later', async () => {
  const store = createLimitStore();
  const places = [await openPlace(store), await openPlace(store)];
  let alone = 0;
  const limiters = places.map((place) => limiterOf(place, () => (alone += 1)));
  const take = async (times: number): Promise<number> => {
    const decisions = await Promise.all(
      Array.from({ length: times }, async (_each, index) => limiters[index % 2]?.take('client', 100)),
    );
    return decisions.filter((decision) => decision?.admitted === true).length;
  };
  assert.equal(await take(40), 40);
  for (const place of places) place.isFrozen = true;
  // 20 of each share of 50 are used. The first batch of each process waits for the parent's answer.
  assert.equal(await take(200), 60);
  assert.ok(alone > 0);
  for (const place of places) place.isFrozen = false;
  await eventually('the parent decides again', () => places.every(({ windows }) => windows.isPresent()));
  const during = alone;
  // What may have been counted is not told again, so some of the 60 may be missing: never more than the first batches.
  const afterwards = await take(200);
  assert.ok(afterwards <= 60, `${afterwards} admitted`);
  assert.equal(alone, during, 'the parent decides');
  assert.equal(await take(10), 0);
});

test('a counter is shared, and is raised to what the database shows', async () => {
  const store = createLimitStore();
  const [one, other] = [await openPlace(store), await openPlace(store)].map(({ windows }) =>
    createSharedCounter({
      windows,
      name: 'quota-day',
      liveProcesses: () => 2,
      onDecidedAlone: () => assert.fail('the parent was away'),
      lifetimeMs: 60_000,
    }),
  ) as [ReturnType<typeof createSharedCounter>, ReturnType<typeof createSharedCounter>];
  one.raise('bank', 7);
  const taken = await Promise.all(
    Array.from({ length: 10 }, (_each, index) => (index % 2 === 0 ? one : other).take('bank', 10)),
  );
  assert.equal(taken.filter(Boolean).length, 3);
});

test('a log has the entries of all processes in one order, and keeps the last ones', async () => {
  const store = createLimitStore();
  const [one, other] = [await openPlace(store), await openPlace(store)].map(({ windows }) =>
    createSharedLog(windows, 'checks', 60_000),
  ) as [ReturnType<typeof createSharedLog>, ReturnType<typeof createSharedLog>];
  assert.deepEqual(await one.append('client', ['a', 'b'], 0), { index: 2, others: [] });
  const read = await other.append('client', ['c'], 0);
  assert.deepEqual(
    read?.others.map(({ entry }) => entry),
    ['a', 'b'],
  );
  assert.equal(read?.index, 3);
  const behind = await one.append('client', [], 2);
  assert.deepEqual(
    behind?.others.map(({ entry }) => entry),
    ['c'],
  );
  // An index of a log that is gone: everything is unread.
  assert.equal((await one.append('client', [], 99))?.others.length, 3);
  const entries = Array.from({ length: 30_000 }, (_each, index) => `entry ${index}`);
  await one.append('client', entries, 3);
  const kept = (await other.append('client', [], 3))?.others ?? [];
  assert.equal(kept.length, 20_000);
  assert.equal(kept.at(-1)?.entry, 'entry 29999');
});

test('what processes have open is counted together, and that of a process that is gone for its lease', async () => {
  let clockMs = 0;
  const store = createLimitStore(() => clockMs);
  const open = async (processId: string) =>
    createSharedConcurrencyLimiter({
      windows: (await openPlace(store)).windows,
      name: 'waits',
      processId,
      liveProcesses: () => 2,
      onDecidedAlone: () => assert.fail('decided alone'),
    });
  const [one, two] = [await open('one'), await open('two')];
  assert.deepEqual([await one.acquire('client', 2), await two.acquire('client', 2)], [true, true]);
  assert.deepEqual([await one.acquire('client', 2), await two.acquire('client', 2)], [false, false]);
  two.release('client');
  await eventually('there is room', async () => one.acquire('client', 2));
  assert.equal(await two.acquire('client', 2), false);
  clockMs += 15_000;
  assert.equal(await two.acquire('client', 2), true, 'the lease of the other has ended');
});

test('cached values are shared until they expire', async () => {
  let clockMs = 0;
  const cache = createSharedCache((await openPlace(createLimitStore(() => clockMs))).windows, 'verdicts');
  assert.equal(await cache.find('slot'), null);
  cache.put('slot', 'sealed', 1_000);
  clockMs += 400;
  assert.deepEqual(await cache.find('slot'), { value: 'sealed', leftMs: 600 });
  clockMs += 600;
  assert.equal(await cache.find('slot'), null);
});

/** Regression: PostgreSQL's count of all machines was read at the start only, so each machine sent the whole quota. */
test("parents on several machines use up a day's quota of a rail once", async (context) => {
  const { app, close } = await startTestService({ rails: [] });
  context.after(close);
  const openMachine = async () => {
    const [clock, liveProcesses] = [() => 0, () => 2];
    const wallClock = (): number => Date.parse('2026-03-02T12:00:00+07:00');
    const log = { warn: () => assert.fail('warned') } as never;
    const daily = await startDailyInquiries({ database: app.database, liveProcesses, wallClock, paused: false, log });
    context.after(daily.close);
    const { windows } = await openPlace(createLimitStore());
    const day = createSharedCounter({
      windows,
      name: 'day',
      liveProcesses,
      onDecidedAlone: () => assert.fail('the parent was away'),
      lifetimeMs: 60_000,
    });
    return createSharedQuota(
      { perSecond: null, perDay: 10 },
      { second: createSlidingWindow(clock), day, liveProcesses, clock },
      { rail: 'only', wallMs: wallClock, dayCount: daily.countOf('only') },
    );
  };
  const [one, two] = [await openMachine(), await openMachine()];
  for (let sent = 0; sent < 6; sent += 1) assert.equal(await one.reserve(), true);
  await eventually('the other machine knows', () => two.left(0).day === 4);
  for (let sent = 0; sent < 4; sent += 1) assert.equal(await two.reserve(), true);
  assert.equal(two.waitMs(0), 12 * 60 * 60 * 1_000, 'used up until midnight in Jakarta');
  assert.equal(await two.reserve(), false);
  await eventually('the first machine knows', () => one.left(0).day === 0);
  assert.equal(await one.reserve(), false);
});
