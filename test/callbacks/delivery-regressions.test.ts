import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, type TestContext, test } from 'node:test';
import { type ClaimedDelivery, claimDeliveries } from '../../apps/server/src/postgres/callback-deliveries.ts';
import { changeEndpoint } from '../../apps/server/src/postgres/callback-endpoints.ts';
import { type RecordedAttempt, recordResults } from '../../apps/server/src/postgres/callback-results.ts';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { replayDelivery } from '../../apps/server/src/postgres/delivery-replays.ts';
import { eventually } from '../support/eventually.ts';
import { neverRespond, respondWith } from '../support/http-receiver.ts';
import { type DeliverySetup, setUpDeliveries } from './delivery-setup.ts';
import { startCallbackReceiver, webhookId } from './webhook.ts';

/** Each test is named for a defect that it prevents. */

let setup: DeliverySetup & { close(): Promise<void> };
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

async function disableAll(): Promise<void> {
  await setup.database.query(
    "update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client' where disabled_at is null",
  );
}

/** A result of this claim, or of another attempt at the same delivery. */
function attemptOf(
  { endpoint, sequence, ...claimed }: ClaimedDelivery,
  { attempt = claimed.attempt, httpStatus }: { readonly attempt?: number; readonly httpStatus: number },
): RecordedAttempt {
  const { clientId, endpointId, url } = endpoint;
  const outcome = httpStatus === 200 ? DELIVERED : DUE_IN_AN_HOUR;
  const took = { endedMs: performance.now(), durationMs: 1 };
  return { clientId, endpointId, url, sequence, attempt, ...took, httpStatus, answer: '', error: null, ...outcome };
}

const DELIVERED = { state: 'delivered', delayMs: null } as const;
const DUE_IN_AN_HOUR = { state: 'pending', delayMs: 3_600_000 } as const;

/**
 * Regression: recording the results of many endpoints in one statement built their cross product and ran into the
 * statement timeout. It was retried without end, and meanwhile every callback was sent again and again.
 */
test('results of 150 endpoints that end at once are recorded', async (context) => {
  const receiver = await startCallbackReceiver(context);
  for (let count = 0; count < 150; count += 1) await setup.addEndpoint(receiver.callbackUrl);
  setup.startDispatcher(context);
  await setup.succeed(3);
  await eventually('all to be delivered', async () => {
    const [row] = await setup.database.query<{ count: string }>(
      "select count(*) from tiba.callback_deliveries where state = 'delivered'",
    );
    return Number(row?.count) === 450;
  });
  assert.equal(receiver.requests.length, 450, 'each callback was sent once');
  await disableAll();
});

/** Regression: disabling a client only closed the API: callbacks with names and account numbers continued. */
test('a disabled client is sent nothing until it is enabled again', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const dispatcher = setup.startDispatcher(context);
  await changeClient(setup.database, 'alpha', 'disable');
  await setup.succeed(1);
  await dispatcher.wakeDueEndpoints();
  assert.deepEqual(
    (await setup.deliveriesTo(endpoint)).map(({ state, attempts }) => [state, attempts]),
    [['pending', 0]],
  );
  assert.equal(receiver.requests.length, 0);
  await changeClient(setup.database, 'alpha', 'enable');
  await receiver.untilReceived(1);
  await disableAll();
});

/**
 * Regression: the failure counted for the new run: a delivery that had just been replayed became exhausted or was
 * delayed for a day.
 */
test('an attempt that was in flight during a replay does not undo it', async (context) => {
  const held: ServerResponse[] = [];
  const receiver = await startCallbackReceiver(context, (response) => void held.push(response));
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  setup.startDispatcher(context);
  await setup.succeed(1);
  await receiver.untilReceived(1);
  await setup.database.query(
    `update tiba.callback_outbox set attempts_before = attempts, next_attempt_at = now() + interval '1 hour',
            claimed_until = null where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  for (const response of held) response.writeHead(500).end();
  const [delivery] = await setup.untilAttempts(endpoint, 1);
  assert.equal(delivery?.state, 'pending');
  const minutes = ((delivery?.next_attempt_at.getTime() ?? 0) - Date.now()) / 60_000;
  assert.ok(minutes > 50 && minutes < 61, `the replay's due time is kept: ${minutes} minutes`);
  await disableAll();
});

/**
 * Regression: the replay used the number of the attempt that was in flight again. Of two attempts with one number, only
 * one was recorded, and a failure of the first one counted for the replay.
 */
test('a replay does not use the number of an attempt that was in flight when an earlier one succeeded', async () => {
  const endpoint = await setup.addEndpoint('https://callbacks.example.com/');
  const { database } = setup;
  await setup.succeed(1);
  // The lease of the first attempt ends before it is recorded, as that of a process that was suspended.
  const claim = () => claimDeliveries(database, endpoint, { limit: 1, leaseMs: 0 });
  const [[first], [second]] = [await claim(), await claim()];
  assert.deepEqual([first?.attempt, second?.attempt], [1, 2]);
  const key = { ...endpoint, sequence: first?.sequence ?? 0 };
  const record = (attempt: number, httpStatus: number) =>
    recordResults(database, [attemptOf(first ?? assert.fail(), { attempt, httpStatus })], []);
  await record(1, 200);
  const replayed = await replayDelivery(database, key);
  assert.equal(typeof replayed === 'string' ? replayed : replayed.state, 'pending');
  const [third] = await claim();
  assert.deepEqual([third?.attempt, third?.attemptOfSchedule], [3, 1]);
  await record(2, 500);
  await record(3, 200);
  const [delivery] = await setup.deliveriesTo(endpoint);
  assert.deepEqual(
    delivery?.results.map(({ attempt, http_status: status }) => [attempt, status]),
    [
      [1, 200],
      [2, 500],
      [3, 200],
    ],
  );
  await disableAll();
});

/**
 * Regression: a claim whose process ended before it recorded a result used up a step of the retry schedule. After ten
 * of them, one 503 gave the callback up.
 */
test('attempts whose result was never recorded use up no step of the retry schedule', async (context) => {
  const receiver = await startCallbackReceiver(context, respondWith(503));
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  await setup.succeed(1);
  for (let lost = 1; lost <= 10; lost += 1) {
    const [claimed] = await claimDeliveries(setup.database, endpoint, { limit: 1, leaseMs: 0 });
    assert.deepEqual([claimed?.attempt, claimed?.attemptOfSchedule], [lost, 1]);
  }
  setup.startDispatcher(context);
  const [delivery] = await setup.untilAttempts(endpoint, 1);
  assert.deepEqual([delivery?.state, delivery?.results[0]?.attempt], ['pending', 11]);
  const seconds = ((delivery?.next_attempt_at.getTime() ?? 0) - Date.now()) / 1_000;
  assert.ok(seconds < 6, `the retry is due in ${seconds} s`);
  await disableAll();
});

/**
 * Regression: an attempt in flight to the former URL, answered with 410 after the client had set another one, disabled
 * the endpoint before the new receiver was called once. A failure made the new URL look like a failing one.
 */
for (const status of [410, 500]) {
  test(`a ${status} of the former URL says nothing about the endpoint with another one`, async (context) => {
    const held: ServerResponse[] = [];
    const former = await startCallbackReceiver(context, (response) => void held.push(response));
    const endpoint = await setup.addEndpoint(former.callbackUrl);
    setup.startDispatcher(context);
    await setup.succeed(1);
    await former.untilReceived(1);
    const receiver = await startCallbackReceiver(context, respondWith(status));
    await changeEndpoint(setup.database, endpoint, { url: receiver.callbackUrl });
    for (const response of held) response.writeHead(status).end();
    await setup.untilAttempts(endpoint, 1);
    assert.deepEqual(await setup.endpointState(endpoint), {
      failing_since: null,
      disabled_at: null,
      disabled_reason: null,
    });
    await setup.succeed(1);
    await setup.untilAttempts(endpoint, 2);
    const state = await setup.endpointState(endpoint);
    assert.equal(state.disabled_reason, status === 410 ? 'gone' : null, 'the current URL counts');
    assert.notEqual(state.failing_since, null);
    await disableAll();
  });
}

test('on a distributed database too, a 410 of the former URL does not disable the endpoint', async () => {
  const database = { ...setup.database, distributed: true };
  const endpoint = await setup.addEndpoint('https://callbacks.example.com/former');
  await setup.succeed(1);
  await setup.takeOutOfRanges(endpoint);
  const [claimed] = await claimDeliveries(database, endpoint, { limit: 1, leaseMs: 60_000 });
  await changeEndpoint(database, endpoint, { url: 'https://callbacks.example.com/current' });
  const result = attemptOf(claimed ?? assert.fail(), { httpStatus: 410 });
  const { endedMs } = result;
  const record = (url: string) =>
    recordResults(
      database,
      [result],
      [{ ...endpoint, url, succeeded: false, firstFailureMs: endedMs, gone: true, lastEndedMs: endedMs }],
    );
  assert.deepEqual(await record('https://callbacks.example.com/former'), []);
  assert.equal((await setup.endpointState(endpoint)).failing_since, null);
  const disabled = await record('https://callbacks.example.com/current');
  assert.deepEqual(
    disabled.map(({ reason }) => reason),
    ['gone'],
  );
  await disableAll();
});

const DAY_MS = 24 * 3_600_000;

/** Advances the clock of this process for the rest of the test, and not PostgreSQL's. */
function advanceProcessClock({ mock }: TestContext, ms: number): void {
  mock.timers.enable({ apis: ['Date'], now: Date.now() + ms });
}

/** Regression: a clock one day ahead for 3 s left a failed callback due in 86,387 s. */
test('a process whose clock is a day ahead retries a failed callback after 5 s', async (context) => {
  const receiver = await startCallbackReceiver(context, respondWith(500));
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  advanceProcessClock(context, DAY_MS);
  setup.startDispatcher(context);
  await setup.succeed(1);
  await setup.untilAttempts(endpoint, 1);
  const [due] = await setup.database.query<{ seconds: number; started: number; failing: number }>(
    `select extract(epoch from d.next_attempt_at - now())::float8 as seconds,
            extract(epoch from now() - a.started_at)::float8 as started,
            extract(epoch from now() - e.failing_since)::float8 as failing
       from tiba.callback_deliveries d
       join tiba.callback_attempts a using (client_id, endpoint_id, sequence)
       join tiba.callback_endpoints e using (client_id, endpoint_id) where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  const { seconds, started, failing } = due ?? assert.fail();
  assert.ok(seconds <= 5.5, `the retry is due in ${seconds} s`);
  assert.ok(started >= 0 && started < 60, `the attempt is shown as started ${started} s ago`);
  assert.ok(failing >= 0 && failing < 60, `the endpoint is shown as failing for ${failing} s`);
  await disableAll();
});

/** Regression: a clock 30 s ahead took over the leases of other processes, and 5 % of callbacks were sent twice. */
test('a process whose clock is a day ahead does not send what another process is sending', async (context) => {
  const receiver = await startCallbackReceiver(context, neverRespond);
  await setup.addEndpoint(receiver.callbackUrl);
  setup.startDispatcher(context);
  const [id] = await setup.succeed(1);
  await receiver.untilReceived(1);
  advanceProcessClock(context, DAY_MS);
  const ahead = setup.startDispatcher(context);
  await ahead.wakeDueEndpoints();
  // New events are sent at once, so a second request about the first event would have arrived before them.
  const [other] = await setup.succeed(1);
  await receiver.untilReceived(2);
  assert.deepEqual(receiver.requests.map(webhookId), [id, other]);
  await disableAll();
});
