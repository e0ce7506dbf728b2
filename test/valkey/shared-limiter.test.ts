import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, describe, test } from 'node:test';
import { type Decision, type Limiter, WINDOW_MS } from '../../apps/server/src/rate-limit/limiter.ts';
import { atValkey } from '../../apps/server/src/valkey/connection.ts';
import { DECIDE } from '../../apps/server/src/valkey/scripts.ts';
import { createSharedLimiter } from '../../apps/server/src/valkey/shared-limiter.ts';
import { openSharedWindows } from '../../apps/server/src/valkey/shared-windows.ts';
import { limiterConformance } from '../rate-limit/limiter-conformance.ts';
import { eventually } from '../support/eventually.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { startTestValkey, type TestValkey, VALKEY_MISSING } from '../support/valkey.ts';
import { admitted, openProcesses, type TestProcess, TIMEOUT_MS, takeAll } from './limiter-processes.ts';

if (VALKEY_MISSING === false) await conformance();

async function conformance(): Promise<void> {
  const valkey = await startTestValkey();
  let nowMs = 1_800_000_000_000;
  const windows = openSharedWindows({
    ...atValkey({ url: valkey.url, cluster: false }),
    clock: () => nowMs,
    timeoutMs: TIMEOUT_MS,
    onChange: () => {},
  });
  await eventually('valkey is present', windows.isPresent);
  after(async () => {
    windows.close();
    await valkey.stop();
  });
  let limiters = 0;
  limiterConformance(
    'of several processes',
    () => ({
      limiter: createSharedLimiter({
        windows,
        name: `limiter ${(limiters += 1)}`,
        liveProcesses: () => 1,
        onDecidedAlone: () => assert.fail('valkey was away'),
        clock: () => nowMs,
      }),
      advance: (ms) => {
        nowMs += ms;
      },
    }),
    { runs: 3 },
  );
}

describe('limiters of several processes', { skip: VALKEY_MISSING }, () => {
  for (const cluster of [false, true]) {
    test(`admit the limit together, ${cluster ? 'in a cluster' : 'on one server'}`, async (t) => {
      const valkey = await startTestValkey(cluster ? CLUSTER_OPTIONS : []);
      t.after(valkey.stop);
      if (cluster) await joinAllSlots(valkey);
      const processes = await openProcesses(t, valkey, 4, { cluster });
      const keys = Array.from({ length: 40 }, (_each, index) => `key ${index}`);
      for (const key of keys) {
        const decisions = await Promise.all(
          Array.from({ length: 100 }, async (_each, index) => processes[index % 4]?.limiter.take(key, 30)),
        );
        assert.equal(admitted(decisions), 30);
      }
      assert.deepEqual(
        processes.map(({ decidedAlone }) => decidedAlone()),
        [0, 0, 0, 0],
      );
    });
  }

  test('decide on requests that come after others of their key were sent or answered', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const [only] = (await openProcesses(t, valkey, 1)) as [TestProcess];
    const other = onWindowsOf(only);
    const take = (key: string): Promise<Decision> => Promise.resolve(only.limiter.take(key, 10));

    // The other limiter's request comes first, so that all are sent before this limiter's turn has ended.
    const before = other.take('other', 10);
    const between = new Promise<Decision>((resolve) => setImmediate(() => resolve(take('sent'))));
    const decisions = await Promise.all([take('sent'), between, before]);
    assert.equal(admitted(decisions), 3);

    const answered = new Promise<Decision>((resolve) => {
      setImmediate(() => resolve(take('answered').then(() => take('answered'))));
    });
    const beforeIt = other.take('other', 10);
    // Valkey answers meanwhile.
    setImmediate(() => execFileSync('redis-server', ['--version']));
    assert.equal(admitted([await beforeIt, await answered]), 2);
  });

  test('decide by themselves with their share while Valkey is killed, and tell it when it is back, empty', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const processes = await openProcesses(t, valkey, 2);
    const [one, two] = processes as [TestProcess, TestProcess];
    // All over one process, so that the other one has its whole share left.
    assert.equal(admitted(await takeAll(one, 200)), 120);
    await valkey.kill();
    await eventually('both notice', () => processes.every(({ windows }) => !windows.isPresent()));
    assert.equal(admitted(await takeAll(one, 200)), 0);
    assert.equal(admitted(await takeAll(two, 200)), 60);
    await valkey.restart();
    await eventually('both are back', () => processes.every(({ windows }) => windows.isPresent()));
    assert.equal(admitted([...(await takeAll(one, 200)), ...(await takeAll(two, 200))]), 0);
    const decision = await one.limiter.peek('client', 1_000);
    assert.equal(decision.remaining, 1_000 - 180, 'Valkey knows of all that was admitted, once');
  });

  test('count once what they admitted while Valkey was frozen', async (t) => {
    const valkey = await startTestValkey();
    t.after(() => {
      valkey.thaw();
      return valkey.stop();
    });
    const processes = await openProcesses(t, valkey, 2, { timeoutMs: 50 });
    const [one, two] = processes as [TestProcess, TestProcess];
    assert.equal(admitted(await takeAll(one, 10)), 10);
    valkey.freeze();
    const startedMs = performance.now();
    // Sent, and executed when Valkey goes on.
    assert.equal(admitted(await takeAll(two, 5)), 5);
    assert.ok(performance.now() - startedMs < timeLimitMs(500), 'decided soon');
    assert.equal(admitted(await takeAll(two, 100)), 55, 'the rest of its share, never sent');
    valkey.thaw();
    await eventually('both are back', () => processes.every(({ windows }) => windows.isPresent()));
    assert.equal((await one.limiter.peek('client', 120)).remaining, 50, '10, 5 and 55 are counted once');
  });

  test('tell Valkey what they admitted before it decides, also when it has forgotten their scripts', async (t) => {
    const valkey = await startTestValkey();
    t.after(() => {
      valkey.thaw();
      return valkey.stop();
    });
    let isBack = (): void => {};
    const [only] = (await openProcesses(t, valkey, 1, { timeoutMs: 50, onPresent: () => isBack() })) as [TestProcess];
    valkey.freeze();
    assert.equal(admitted(await takeAll(only, 1)), 1);
    assert.equal(admitted(await takeAll(only, 200)), 119, 'never sent');
    // As after a restart with persistence: another process has sent the one script again, and none the other.
    const forgotten = Promise.all([valkey.command('SCRIPT', 'FLUSH'), valkey.command('SCRIPT', 'LOAD', DECIDE)]);
    const first = new Promise<Decision[]>((resolve) => (isBack = () => resolve(takeAll(only, 100))));
    valkey.thaw();
    await forgotten;
    assert.equal(admitted(await first), 0);
  });

  test('notice at once that Valkey has lost its data', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const processes = await openProcesses(t, valkey, 4);
    const before = await Promise.all(processes.map((each) => takeAll(each, 200)));
    assert.equal(admitted(before.flat()), 120);
    await valkey.command('FLUSHALL');
    const meanwhile = await Promise.all(processes.map((each) => takeAll(each, 200)));
    assert.ok(admitted(meanwhile.flat()) <= 4 * 30, 'at most one share per process');
    await eventually('all notice', () => processes.every(({ windows }) => !windows.isPresent()));
    await eventually('all are back', () => processes.every(({ windows }) => windows.isPresent()));
    const later = await Promise.all(processes.map((each) => takeAll(each, 200)));
    assert.equal(admitted(later.flat()), 0);
  });

  test('decide by themselves while Valkey has no memory left', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const [only] = (await openProcesses(t, valkey, 1)) as [TestProcess];
    await valkey.command('CONFIG', 'SET', 'maxmemory', '1');
    assert.equal(admitted(await takeAll(only, 200)), 120);
    assert.equal(only.windows.isPresent(), false);
    await valkey.command('CONFIG', 'SET', 'maxmemory', '0');
    await eventually('it is back', only.windows.isPresent);
    assert.equal(admitted(await takeAll(only, 10)), 0);
  });

  test('leave nothing behind in Valkey', async (t) => {
    const valkey = await startTestValkey();
    t.after(valkey.stop);
    const [only] = (await openProcesses(t, valkey, 1)) as [TestProcess];
    await takeAll(only, 1_000);
    const key = 'tiba:{limits:0}:test client';
    const expiresMs = Number(await valkey.command('PTTL', key));
    assert.ok(expiresMs > WINDOW_MS - 5_000 && expiresMs <= WINDOW_MS + 1_000, `expires after ${expiresMs} ms`);
    assert.ok(Number(await valkey.command('MEMORY', 'USAGE', key)) < 3_000, 'a window takes little memory');
  });
});

const CLUSTER_OPTIONS = ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'];

/** A second limiter of the same process: their requests are sent together. */
const onWindowsOf = ({ windows }: TestProcess): Limiter =>
  createSharedLimiter({
    windows,
    name: 'other',
    liveProcesses: () => 1,
    onDecidedAlone: () => {},
    clock: () => performance.now(),
  });

async function joinAllSlots(valkey: TestValkey): Promise<void> {
  await valkey.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await eventually('the cluster is up', async () =>
    String(await valkey.command('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  );
}
