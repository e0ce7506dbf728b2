import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { ATTEMPT_DELAYS_MS } from '../../apps/server/src/callbacks/retry-schedule.ts';
import { eventually } from '../support/eventually.ts';
import { type Respond, respondWith } from '../support/http-receiver.ts';
import { type DeliveryState, type Endpoint, setUpDeliveries } from './delivery-setup.ts';
import { type CallbackReceiver, startCallbackReceiver, webhookId } from './webhook.ts';

/** The state of a delivery and of its endpoint after each attempt. */

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

let setup: Awaited<ReturnType<typeof setUpDeliveries>>;
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

/** Starts with one endpoint, a running dispatcher and one event. */
async function begin(
  context: TestContext,
  answer: Respond,
): Promise<{ receiver: CallbackReceiver; endpoint: Endpoint; wakeDueEndpoints: () => Promise<void> }> {
  // Pending deliveries of other tests would become due each time the clock advances.
  await setup.database.query('delete from tiba.callback_attempts');
  await setup.database.query('delete from tiba.callback_outbox');
  await setup.database.query('delete from tiba.callback_outbox_ranges');
  await setup.database.query(`update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client'
                               where disabled_at is null`);
  const receiver = await startCallbackReceiver(context, answer);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const { wakeDueEndpoints } = setup.startDispatcher(context);
  await setup.succeed(1);
  return { receiver, endpoint, wakeDueEndpoints };
}

const only = <T>([first]: readonly T[]): T => {
  if (first === undefined) throw new Error('there is none');
  return first;
};

/** The delay from the last attempt of a delivery to the next one. */
function delayOf({ next_attempt_at: next, results }: DeliveryState): number {
  return next.getTime() - (results.at(-1)?.ended_ms ?? Number.NaN);
}

test('a delivery that always fails is exhausted after ten attempts on the schedule with one id', async (context) => {
  const { receiver, endpoint, wakeDueEndpoints } = await begin(context, respondWith(500, 'this is 500'));
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const delivery = only(await setup.untilAttempts(endpoint, attempt));
    assert.equal(delivery.attempts, attempt);
    assert.deepEqual(delivery.results.at(-1)?.http_status, 500);
    assert.equal(delivery.results.at(-1)?.answer, 'this is 500');
    if (attempt === 10) {
      assert.equal(delivery.state, 'exhausted');
      break;
    }
    assert.equal(delivery.state, 'pending');
    const plannedMs = ATTEMPT_DELAYS_MS[attempt] ?? 0;
    const delayMs = delayOf(delivery);
    assert.ok(delayMs >= plannedMs * 0.9 - 2 && delayMs <= plannedMs * 1.1 + 2, `${delayMs} ms after ${attempt}`);
    await setup.clock.advance(delayMs);
    await wakeDueEndpoints();
  }
  assert.equal(receiver.requests.length, 10);
  assert.equal(new Set(receiver.requests.map(webhookId)).size, 1);
  const times = receiver.requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  assert.deepEqual(
    times.toSorted((one, other) => one - other),
    times,
  );
  assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) > 67 * 3_600, 'the timestamp is the time of the attempt');
});

test('a delivery is not sent before it is due', async (context) => {
  const { receiver, endpoint, wakeDueEndpoints } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  await setup.clock.advance(5.5 * SECOND_MS);
  const failedTwice = only(await setup.untilAttempts(endpoint, 2));
  await setup.clock.advance(delayOf(failedTwice) - 20 * SECOND_MS);
  await wakeDueEndpoints();
  await setup.succeed(1);
  // A newer delivery that is due arrives; the one that is not due was not sent before it.
  await receiver.untilReceived(3);
  assert.equal(receiver.requests.filter((request) => webhookId(request) === failedTwice.id).length, 2);
});

for (const [name, retryAfter, leastMs, mostMs] of [
  ['in seconds', () => '120', 120 * SECOND_MS, 121 * SECOND_MS],
  ['as a date', (nowMs: number) => new Date(nowMs + 600_000).toUTCString(), 590 * SECOND_MS, 601 * SECOND_MS],
  ['that is longer than a day', () => '8000000', DAY_MS, DAY_MS + SECOND_MS],
  ['that is sooner than the schedule', () => '1', 4_500, 5_500],
] as const) {
  test(`a Retry-After ${name} is respected`, async (context) => {
    const { endpoint } = await begin(context, (response) => {
      response.writeHead(429, { 'retry-after': retryAfter(setup.clock()) }).end();
    });
    const delivery = only(await setup.untilAttempts(endpoint, 1));
    const delayMs = delayOf(delivery);
    assert.ok(delayMs >= leastMs - 2 && delayMs <= mostMs + 2, `${delayMs} ms`);
  });
}

test('a redirect is a failure and is not followed', async (context) => {
  const elsewhere = await startCallbackReceiver(context);
  const { endpoint } = await begin(context, respondWith(307, '', { location: elsewhere.callbackUrl }));
  const delivery = only(await setup.untilAttempts(endpoint, 1));
  assert.equal(delivery.state, 'pending');
  assert.equal(delivery.results[0]?.http_status, 307);
  assert.equal(elsewhere.requests.length, 0);
});

test('any 2xx is a success, with or without a body', async (context) => {
  const { endpoint, receiver } = await begin(context, respondWith(299, 'this is 299'));
  await setup.untilAttempts(endpoint, 1);
  receiver.respond = (response) => response.writeHead(204).end();
  await setup.succeed(1);
  const deliveries = await setup.untilAttempts(endpoint, 2);
  assert.deepEqual(
    deliveries.map(({ state, results }) => [state, results[0]?.http_status, results[0]?.answer, results[0]?.error]),
    [
      ['delivered', 299, 'this is 299', null],
      ['delivered', 204, '', null],
    ],
  );
});

test('an unreachable receiver is a failure with a reason that can be shown to the client', async (context) => {
  const { endpoint } = await begin(context, respondWith(200));
  const gone = await startCallbackReceiver(context);
  await setup.database.query('update tiba.callback_endpoints set url = $1 where endpoint_id = $2', [
    gone.callbackUrl.replace(/:\d+\//, ':9/'),
    endpoint.endpointId,
  ]);
  await setup.succeed(1);
  const delivery = (await setup.untilAttempts(endpoint, 2)).at(-1);
  assert.equal(delivery?.results[0]?.http_status, null);
  assert.equal(delivery?.results[0]?.answer, null);
  assert.match(delivery?.results[0]?.error ?? '', /127\.0\.0\.1/);
});

test('410 disables the endpoint, is logged for the operator, and stops all callbacks', async (context) => {
  const { endpoint, receiver, wakeDueEndpoints } = await begin(context, respondWith(410));
  await setup.untilAttempts(endpoint, 1);
  const { disabled_reason: reason, failing_since: failingSince } = await setup.endpointState(endpoint);
  assert.equal(reason, 'gone');
  assert.ok(failingSince instanceof Date);
  const line = setup.logged.find(({ endpointId }) => endpointId === endpoint.endpointId);
  assert.equal(line?.['msg'], 'callback endpoint disabled');
  assert.equal(line?.['reason'], 'gone');

  // New events create no deliveries for it, and its pending delivery stays unsent.
  await setup.succeed(1);
  await setup.clock.advance(DAY_MS);
  const healthy = await startCallbackReceiver(context);
  await setup.addEndpoint(healthy.callbackUrl);
  await setup.succeed(1);
  await wakeDueEndpoints();
  await healthy.untilReceived(1);
  assert.equal(receiver.requests.length, 1);
  assert.equal(only(await setup.deliveriesTo(endpoint)).state, 'pending');
});

test('failing_since is set by the first failure and cleared by a success', async (context) => {
  const { endpoint, receiver, wakeDueEndpoints } = await begin(context, respondWith(503));
  const first = only(await setup.untilAttempts(endpoint, 1));
  const { failing_since: failingSince } = await setup.endpointState(endpoint);
  assert.ok(Math.abs((failingSince?.getTime() ?? 0) - (first.results[0]?.ended_ms ?? 0)) < 5);

  await setup.clock.advance(6 * SECOND_MS);
  await wakeDueEndpoints();
  await setup.untilAttempts(endpoint, 2);
  assert.deepEqual((await setup.endpointState(endpoint)).failing_since, failingSince);

  receiver.respond = respondWith(200);
  await setup.succeed(1);
  await setup.untilAttempts(endpoint, 3);
  assert.equal((await setup.endpointState(endpoint)).failing_since, null);
});

test('an endpoint that has failed for five days is disabled by its next failure, not earlier', async (context) => {
  const { endpoint } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  await setup.clock.advance(5 * DAY_MS - 60 * SECOND_MS);
  await setup.succeed(1);
  await setup.untilAttempts(endpoint, 2);
  assert.equal((await setup.endpointState(endpoint)).disabled_reason, null);

  await setup.clock.advance(60 * SECOND_MS);
  await setup.succeed(1);
  await eventually(
    'the endpoint to be disabled',
    async () => (await setup.endpointState(endpoint)).disabled_at !== null,
  );
  assert.equal((await setup.endpointState(endpoint)).disabled_reason, 'failing');
});

test('a success in between restarts the five days', async (context) => {
  const { endpoint, receiver } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  await setup.clock.advance(4 * DAY_MS);
  receiver.respond = respondWith(200);
  await setup.succeed(1);
  await eventually('the success', async () =>
    (await setup.deliveriesTo(endpoint)).some(({ state }) => state === 'delivered'),
  );
  receiver.respond = respondWith(500);
  await setup.clock.advance(2 * DAY_MS);
  await setup.succeed(1);
  await eventually('another failure', async () => (await setup.endpointState(endpoint)).failing_since !== null);
  assert.equal((await setup.endpointState(endpoint)).disabled_reason, null);
});

test('a replay restarts the schedule of a delivery and continues its attempt numbers', async (context) => {
  const { endpoint, wakeDueEndpoints } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  await setup.database.query(
    `update tiba.callback_outbox
        set state = 'exhausted', attempts = 10, attempts_before = 0, ended_at = now() where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  await setup.database.query(
    `update tiba.callback_outbox
        set state = 'pending', attempts_before = attempts, next_attempt_at = now(), claimed_until = null,
            ended_at = null
      where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  await wakeDueEndpoints();
  const delivery = only(await setup.untilAttempts(endpoint, 2));
  assert.equal(delivery.state, 'pending');
  assert.equal(delivery.results.at(-1)?.attempt, 11);
  assert.ok(delayOf(delivery) <= 5_502, 'the second attempt of a schedule is due after five seconds');
});

test('the log contains no URL, secret or account holder', async () => {
  const text = JSON.stringify(setup.logged);
  assert.ok(setup.logged.length > 0);
  for (const kept of ['KEPT-OUT-OF-LOGS', 'whsec_', 'BUDI SANTOSO', '1234567890']) {
    assert.ok(!text.includes(kept), kept);
  }
});
