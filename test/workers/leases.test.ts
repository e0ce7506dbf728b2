import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Limiter, WINDOW_MS } from '../../apps/server/src/rate-limit/limiter.ts';
import { createSlidingWindow } from '../../apps/server/src/rate-limit/sliding-window.ts';
import { createSharedLimiter } from '../../apps/server/src/valkey/shared-limiter.ts';
import { openSharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import type { LeaseHolder } from '../../apps/server/src/workers/lease-recalls.ts';
import { createLeaseStore } from '../../apps/server/src/workers/lease-store.ts';
import { createLeases, type LeaseExchange, type WorkerLeases } from '../../apps/server/src/workers/leases.ts';
import { createLimitStore, type LimitStore, operationOf } from '../../apps/server/src/workers/limit-store.ts';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';

/** What workers of one parent admit by themselves, without the processes (several-processes.test.ts has them). */

/** FC_SEED repeats a run. Each run prints its seed. */
const SEED = Number(process.env['FC_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

interface Parent {
  readonly store: LimitStore;
  /** Milliseconds, on the clock of the parent and its workers. */
  nowMs: number;
  /** How often workers let it decide on requests. */
  decisions: number;
}

interface TestWorker {
  readonly limiter: Limiter;
  readonly leases: WorkerLeases;
  readonly holder: LeaseHolder;
  /** How often the parent has called a lease back. */
  recalls: number;
  /** While it is true, nothing that the parent sends arrives. */
  isHung: boolean;
  /** The messages that have not arrived at the hung worker. */
  readonly waiting: (() => void)[];
}

function createParent(recallTimeoutMs = timeLimitMs(10_000)): Parent {
  const time = { nowMs: 1_000_000, decisions: 0 };
  return Object.assign(time, { store: createLimitStore(() => time.nowMs, recallTimeoutMs) });
}

async function createWorker(parent: Parent): Promise<TestWorker> {
  const { store } = parent;
  const clock = (): number => parent.nowMs;
  const toParent = (deliver: () => void): void => void setImmediate(deliver);
  const toWorker = (deliver: () => void): void =>
    void setImmediate(() => (worker.isHung ? worker.waiting.push(deliver) : deliver()));
  const leases = createLeases((exchange) => toParent(() => exchangeNow(exchange)), {
    clock,
    // The tests exchange by themselves.
    intervalMs: 1_000_000,
  });
  const holder: LeaseHolder = {
    recall(key) {
      worker.recalls += 1;
      toWorker(() => leases.recall(key));
    },
  };
  const exchangeNow = (exchange: LeaseExchange): void => {
    const grant = store.leases.exchange(holder, exchange);
    if (grant !== null) toWorker(() => leases.receive(grant));
  };
  const run = async ({ lua }: { lua: string }, keys: readonly string[], args: readonly (string | number)[]) => {
    const operation = operationOf(lua);
    assert.ok(operation !== undefined);
    if (operation === 'decide') parent.decisions += 1;
    await new Promise<void>((resolve) => toParent(resolve));
    const reply = await store.run(operation, keys, args);
    await new Promise<void>((resolve) => toWorker(resolve));
    return reply;
  };
  const windows = openSharedWindows({
    cluster: false,
    open({ onReady }) {
      setImmediate(onReady);
      return { run, runInOrder: run, leases, reconnect() {}, close: leases.close };
    },
    onChange: () => {},
    timeoutMs: timeLimitMs(10_000),
  });
  const limiter = createSharedLimiter({
    windows,
    name: 'requests',
    liveProcesses: () => 2,
    onDecidedAlone: () => assert.fail('decided alone'),
    clock,
  });
  const worker: TestWorker = { limiter, leases, holder, recalls: 0, isHung: false, waiting: [] };
  await eventually('the parent is present', windows.isPresent);
  after(windows.close);
  return worker;
}

const createWorkers = (parent: Parent, count: number): Promise<TestWorker[]> =>
  Promise.all(Array.from({ length: count }, () => createWorker(parent)));

/** Takes at all workers in turn, a few at a time. Returns how many were admitted. */
async function take(workers: readonly TestWorker[], key: string, limit: number, times: number): Promise<number> {
  let admitted = 0;
  for (let done = 0; done < times; done += 40) {
    const decisions = await Promise.all(
      Array.from({ length: Math.min(40, times - done) }, async (_each, index) =>
        workers[index % workers.length]?.limiter.take(key, limit),
      ),
    );
    admitted += decisions.filter((decision) => decision?.admitted === true).length;
    for (const { leases } of workers) leases.exchange();
    await untilDelivered();
  }
  return admitted;
}

/** Takes at each worker, all at once. */
async function burst(workers: readonly TestWorker[], times: number): Promise<void> {
  const takes = workers.flatMap(({ limiter }) =>
    Array.from({ length: times }, async () => limiter.take('client', LIMIT)),
  );
  await Promise.all(takes);
}

/** Messages, their answers, and what these cause take a turn of the event loop each. */
async function untilDelivered(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const held = ({ store }: Parent, key: string): number => store.leases.held(`tiba:{limits:0}:requests ${key}`);

const LIMIT = 6_000;

/** Lets workers admit requests until they have leases. Resolves with how many they admitted. */
async function useLeases(parent: Parent, workers: readonly TestWorker[], key = 'client'): Promise<number> {
  const admitted = await take(workers, key, LIMIT, 2_000);
  assert.equal(admitted, 2_000);
  assert.ok(held(parent, key) > 0, 'there are leases');
  return admitted;
}

test('workers admit most requests of a busy client by themselves, and exactly the limit together', async () => {
  const parent = createParent();
  const workers = await createWorkers(parent, 3);
  await useLeases(parent, workers);
  const before = parent.decisions;
  assert.equal(await take(workers, 'client', LIMIT, 1_600), 1_600);
  assert.ok(parent.decisions - before < 20, `${parent.decisions - before} questions about 1,600 requests`);
  assert.equal(await take(workers, 'client', LIMIT, 4_000), LIMIT - 3_600);
  assert.equal(held(parent, 'client'), 0);
});

test('a lease that is not used is given back before another worker is refused', async () => {
  const parent = createParent();
  const [one, other] = (await createWorkers(parent, 2)) as [TestWorker, TestWorker];
  const admitted = await useLeases(parent, [one, other]);
  // The other one gets no more requests, and does not exchange.
  assert.equal(await take([one], 'client', LIMIT, LIMIT), LIMIT - admitted);
});

test('a lease is a small part of what is left, however much is left', async () => {
  const parent = createParent();
  const [one, other] = (await createWorkers(parent, 2)) as [TestWorker, TestWorker];
  let admitted = await useLeases(parent, [one, other]);
  // A burst, after which the other one gets few requests.
  await burst([one, other], 200);
  for (const { leases } of [one, other]) leases.exchange();
  await untilDelivered();
  admitted += 400;
  while (admitted < LIMIT) {
    await burst([other], 4);
    admitted += 4 + (await take([one, other], 'client', LIMIT, 2)) + (await take([one], 'client', LIMIT, 200));
    const leased = held(parent, 'client');
    // The other one has twice as many as it got between two exchanges.
    assert.ok(leased <= (LIMIT - admitted) / 32 + 10, `${leased} of ${LIMIT - admitted} are leased`);
  }
});

test('a lease that was asked for under another limit is given back', () => {
  const sent: LeaseExchange[] = [];
  const leases = createLeases((exchange) => sent.push(exchange), { clock: () => 0, intervalMs: 1_000_000 });
  const windows = leases.open('');
  windows.observe('client', 100_000, 1_900);
  leases.exchange();
  assert.equal(windows.take('client', 3_000, 1), null);
  windows.observe('client', 3_000, 1_900);
  leases.receive({ key: 'client', limit: 100_000, granted: 3_000, leaseMax: 3_000, total: 1_900, resetMs: 1 });
  assert.equal(windows.take('client', 3_000, 1), null);
  assert.equal(
    sent.reduce((sum, { returned }) => sum + returned, 0),
    3_000,
  );
  leases.close();
});

test('the limit of every client among many is exact', async () => {
  const parent = createParent();
  const workers = await createWorkers(parent, 2);
  const keys = Array.from({ length: 30 }, (_each, index) => `client ${index}`);
  const admitted = await Promise.all(
    keys.map((key, index) => take(workers, key, index % 2 === 0 ? 3_000 : 120, index % 2 === 0 ? 3_200 : 200)),
  );
  assert.deepEqual(
    admitted,
    keys.map((_each, index) => (index % 2 === 0 ? 3_000 : 120)),
  );
});

test('a limit that is lowered or raised counts at once', async () => {
  const parent = createParent();
  const workers = await createWorkers(parent, 2);
  const admitted = await useLeases(parent, workers);
  assert.equal(await take(workers, 'client', admitted + 10, 100), 10);
  assert.equal(await take(workers, 'client', 1_000, 100), 0);
  assert.equal(await take(workers, 'client', LIMIT + 500, LIMIT + 500), LIMIT + 500 - admitted - 10);
});

test('what a worker held when it was killed counts as admitted for a minute', async () => {
  const parent = createParent();
  const [one, killed] = (await createWorkers(parent, 2)) as [TestWorker, TestWorker];
  const before = await useLeases(parent, [one, killed]);
  const inAll = held(parent, 'client');
  one.leases.recall('tiba:{limits:0}:requests client');
  await eventually('one lease is left', () => held(parent, 'client') < inAll);
  const lost = held(parent, 'client');
  assert.ok(lost > 0);
  parent.store.leases.onExit(killed.holder);
  // What it sent before arrives later.
  killed.leases.exchange();
  killed.leases.recall('tiba:{limits:0}:requests client');
  assert.equal(await take([one], 'client', LIMIT, LIMIT), LIMIT - before - lost);
  assert.equal(held(parent, 'client'), 0);
  parent.nowMs += WINDOW_MS;
  assert.equal(await take([one], 'client', LIMIT, LIMIT + 100), LIMIT);
});

test('a worker that hangs keeps others from its lease only until it goes on', async () => {
  const parent = createParent(20);
  const [one, hung] = (await createWorkers(parent, 2)) as [TestWorker, TestWorker];
  const before = await useLeases(parent, [one, hung]);
  hung.isHung = true;
  hung.recalls = 0;
  const first = await take([one], 'client', LIMIT, LIMIT - before);
  const missing = LIMIT - before - first;
  assert.ok(missing > 0 && missing <= LIMIT / 32, `${missing} were not admitted`);
  const { admitted, remaining } = await one.limiter.take('client', LIMIT);
  assert.deepEqual([admitted, remaining], [false, 0]);
  assert.equal(hung.recalls, 1, 'nothing waits for it again');
  hung.isHung = false;
  for (const deliver of hung.waiting.splice(0)) deliver();
  assert.equal(await take([one], 'client', LIMIT, LIMIT), missing);
});

test('a parent that was busy reads what was given back meanwhile before it refuses', async () => {
  const windows = createSlidingWindow(() => performance.now());
  const store = createLeaseStore(() => windows, 1);
  const exchange = { key: 'client', limit: 6_000, asks: true, wanted: 0, returned: 0, used: [] };
  const giveBack = (): void => void store.exchange(holder, { ...exchange, asks: false, returned: 100 });
  // Like an answer on a socket, it is read after the timers that are due.
  const holder = { recall: () => void setImmediate(giveBack) };
  assert.equal(store.exchange(holder, { ...exchange, wanted: 100 })?.granted, 100);
  const recalled = store.recall(['client']);
  const busyUntilMs = performance.now() + 20;
  while (performance.now() < busyUntilMs);
  await recalled;
  assert.equal(store.held('client'), 0);
});

test('in any minute exactly the limit is admitted, whatever comes when and where', async (context) => {
  context.diagnostic(`FC_SEED=${SEED}`);
  const random = randomNumbers(SEED);
  const parent = createParent();
  const workers = await createWorkers(parent, 3);
  let admissions: { readonly atMs: number; readonly count: number }[] = [];
  for (let step = 0; step < 120; step += 1) {
    parent.nowMs += random(4) === 0 ? random(20_000) : random(200);
    const times = random(600) + 1;
    const some = workers.slice(0, random(workers.length) + 1);
    admissions = admissions.filter(({ atMs }) => parent.nowMs - atMs < WINDOW_MS);
    const inWindow = admissions.reduce((sum, { count }) => sum + count, 0);
    const count = await take(some, 'client', LIMIT, times);
    assert.equal(count, Math.min(times, LIMIT - inWindow), `step ${step}`);
    admissions.push({ atMs: parent.nowMs, count });
  }
});

/** Numbers below a bound, the same for the same seed (mulberry32). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}
