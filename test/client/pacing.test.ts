import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { untilAborted } from '../../packages/client/src/clock.ts';
import { type TibaClient, TibaError } from '../../packages/client/src/index.ts';
import { createPacer } from '../../packages/client/src/pacer.ts';
import { startTestService, type TestClient, type TestService } from '../support/service.ts';
import { IN_PROCESS, sendTransaction, startScriptedService } from './scripted-service.ts';
import { type CountedFetch, clientOf, countFetch } from './test-client.ts';
import { createVirtualClock, type VirtualClock } from './virtual-clock.ts';

/**
 * The client keeps to the limits of the real service, whose limiter and the client run on one clock of the test.
 * `CHECKS=10000` is the long form. With a service that is killed meanwhile: killed-service.test.ts.
 */

const CHECKS = Number(process.env['CHECKS'] ?? 400);
const CALLERS = 50;
const HOUR_MS = 3_600_000;

const clock = createVirtualClock();
let service: TestService;
before(async () => {
  service = await startTestService({ rails: [], limitClock: () => clock.now() });
});
after(() => service?.close());

/** Advances the clock whenever no request is on its way, until everything has settled. */
async function play<T>(
  calls: Promise<T>,
  { clock: played = clock, sent }: { readonly clock?: VirtualClock; readonly sent: readonly CountedFetch[] },
): Promise<T> {
  const state = { settled: false };
  const settle = (): void => {
    state.settled = true;
  };
  calls.then(settle, settle);
  while (!state.settled) {
    await turn();
    if (sent.some((each) => each.open() > 0)) continue;
    // What an answer has set in motion takes a few turns.
    for (let turns = 0; turns < 5; turns += 1) await turn();
    if (!state.settled && sent.every((each) => each.open() === 0)) played.fireNext();
  }
  return calls;
}

async function checkMany(tiba: TibaClient, checks: number, callers = CALLERS): Promise<string[]> {
  const outcomes: string[] = [];
  let left = checks;
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const outcome = await tiba.checkStatus('NONE', { timeoutMs: 10 * HOUR_MS }).catch((error: unknown) => error);
      outcomes.push(outcome instanceof TibaError ? outcome.error_code : String(outcome));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return outcomes;
}

const addPaced = (name: string, limit: number): Promise<TestClient> =>
  service.addClient(name, ['status:read'], { 'check-status': limit });

test(`${CHECKS} checks by ${CALLERS} callers: not one 429, and at least 97 % of the allowance is used`, async (context) => {
  const sent = countFetch();
  const tiba = clientOf(service, { clock, fetch: sent.fetch }, await addPaced('paced', 120));
  const beganMs = clock.now();
  const outcomes = await play(checkMany(tiba, CHECKS), { sent: [sent] });
  assert.equal(outcomes.filter((code) => code === 'TRANSACTION_NOT_FOUND').length, CHECKS);
  assert.equal(sent.statuses.get(429), undefined);
  // 120 at the beginning, and 120 more with each minute.
  const shortestMs = (Math.ceil(CHECKS / 120) - 1) * 60_000;
  const tookMs = clock.now() - beganMs;
  const used = shortestMs / tookMs;
  context.diagnostic(`${(used * 100).toFixed(2)} % of the allowance used, in ${tookMs / 1_000} s of the clock`);
  assert.ok(used >= 0.97, `${(used * 100).toFixed(2)} % in ${tookMs} ms`);
});

test('two processes with one client ID share the limit by what the service says is left', async () => {
  const [one, other] = [countFetch(), countFetch()];
  const client = await addPaced('shared', 60);
  const both = [one, other].map((sent) => clientOf(service, { clock, fetch: sent.fetch }, client));
  const outcomes = await play(Promise.all(both.map((tiba) => checkMany(tiba, 150, 5))), { sent: [one, other] });
  assert.equal(outcomes.flat().filter((code) => code === 'TRANSACTION_NOT_FOUND').length, 300);
  const refused = (one.statuses.get(429) ?? 0) + (other.statuses.get(429) ?? 0);
  // What both send in the same moment cannot be known.
  assert.ok(refused <= 30, `${refused} of 300 were refused`);
});

test('there is room when the service says so (plugin-throttling#566: the reset was ignored)', async (context) => {
  const ownClock = createVirtualClock();
  const sent = countFetch();
  // Another process of the client has used the limit up: 2 s after this answer there is room, and 4 s after the next.
  const { tiba } = await startScriptedService(
    context,
    (response, _request, count) =>
      sendTransaction(response, IN_PROCESS, {
        'ratelimit-policy': '"check-status";q=3;w=60',
        ratelimit: `"check-status";r=0;t=${count * 2}`,
      }),
    { clock: ownClock, fetch: sent.fetch },
  );
  const timesMs: number[] = [];
  for (let call = 0; call < 3; call += 1) {
    await play(tiba.checkStatus('TB000001'), { clock: ownClock, sent: [sent] });
    timesMs.push(ownClock.now());
  }
  assert.deepEqual(
    timesMs.map((ms) => Math.floor(ms / 1_000)),
    [0, 2, 6],
  );
});

test('a batch counts as one request for 10 IDs, and is not refused either', async () => {
  const sent = countFetch();
  const tiba = clientOf(service, { clock, fetch: sent.fetch }, await addPaced('batches', 20));
  const ids = Array.from({ length: 100 }, (_, index) => `ID ${index}`);
  const batches = Array.from({ length: 6 }, () => tiba.checkStatusBatch(ids, { timeoutMs: HOUR_MS }));
  await play(Promise.all(batches), { sent: [sent] });
  assert.equal(sent.statuses.get(429), undefined);
});

test('a call whose turn comes after its end is not sent, and says when there is room', async () => {
  const sent = countFetch();
  const tiba = clientOf(service, { clock, fetch: sent.fetch }, await addPaced('impatient', 2));
  await play(checkMany(tiba, 2, 1), { sent: [sent] });
  const before = sent.requests.length;
  const error = await tiba.checkStatus('NONE', { timeoutMs: 1_000 }).catch((reason: unknown) => reason);
  assert.ok(error instanceof TibaError && error.error_code === 'RATE_LIMIT_EXCEEDED', String(error));
  assert.ok(error.retryAfterMs > 50_000 && error.retryAfterMs <= 61_000, String(error.retryAfterMs));
  assert.equal(error.status, null);
  assert.equal(sent.requests.length, before);
});

test('a call that is aborted after it was sent keeps the places of the calls that wait', async () => {
  const pacer = createPacer(createVirtualClock());
  const request = { cost: 1, heldOpen: false };
  const first = new AbortController();
  const permit = await pacer.acquire('check-status', request, first.signal);
  // Until the first answer states the limit, the second call waits for it.
  const waiting = pacer.acquire('check-status', request, new AbortController().signal);
  first.abort();
  permit.done(null);
  const outcome = await Promise.race([waiting.then(() => 'sent'), turn('its place is lost')]);
  assert.equal(outcome, 'sent');
});

test('a promise that settles while it is started leaves no listener on the signal', async () => {
  const ended: string[] = [];
  const controller = new AbortController();
  const resolved = untilAborted<string>(controller.signal, (resolve) => {
    resolve('value');
    return () => void ended.push('resolved');
  });
  const rejected = untilAborted<string>(controller.signal, (_resolve, reject) => {
    reject(new Error('failed'));
    return () => void ended.push('rejected');
  });
  controller.abort();
  assert.equal(await resolved, 'value');
  await assert.rejects(rejected, /failed/);
  assert.deepEqual(ended, []);
});
