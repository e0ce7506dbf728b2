import assert from 'node:assert/strict';
import { after, before, type TestContext, test } from 'node:test';
import { ATTEMPT_DELAYS_MS } from '../../apps/server/src/callbacks/retry-schedule.ts';
import { eventually } from '../support/eventually.ts';
import { type Respond, respondWith } from '../support/http-receiver.ts';
import { type DeliveryState, type Endpoint, setUpDeliveries } from './delivery-setup.ts';
import { type CallbackReceiver, startCallbackReceiver, webhookId } from './webhook.ts';

/** What becomes of a delivery after each attempt, and of its endpoint. */

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
const DAY_MS = 24 * HOUR_MS;

let setup: Awaited<ReturnType<typeof setUpDeliveries>>;
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

/** One endpoint, a running engine, and one thing that has happened. */
async function begin(
  context: TestContext,
  answer: Respond,
): Promise<{ receiver: CallbackReceiver; endpoint: Endpoint; look: () => Promise<void> }> {
  // What other tests' endpoints are still owed would fall due with each push of the clock.
  await setup.database.query('delete from tiba.callback_attempts');
  await setup.database.query('delete from tiba.callback_deliveries');
  await setup.database.query(`update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client'
                               where disabled_at is null`);
  const receiver = await startCallbackReceiver(context, answer);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const { wakeDueEndpoints } = setup.start(context);
  await setup.succeed(1);
  return { receiver, endpoint, look: wakeDueEndpoints };
}

const only = <T>([first]: readonly T[]): T => {
  if (first === undefined) throw new Error('there is none');
  return first;
};

/** How long after its last attempt a delivery is due again. */
function delayOf({ next_attempt_at: next, tries }: DeliveryState): number {
  return next.getTime() - (tries.at(-1)?.ended_ms ?? Number.NaN);
}

test('a delivery that always fails is tried ten times on the schedule, under one id, and then given up', async (context) => {
  const { receiver, endpoint, look } = await begin(context, respondWith(500, 'this is 500'));
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    const delivery = only(await setup.untilAttempts(endpoint, attempt));
    assert.equal(delivery.attempts, attempt);
    assert.deepEqual(delivery.tries.at(-1)?.http_status, 500);
    assert.equal(delivery.tries.at(-1)?.answer, 'this is 500');
    if (attempt === 10) {
      assert.equal(delivery.state, 'exhausted');
      break;
    }
    assert.equal(delivery.state, 'pending');
    const plannedMs = ATTEMPT_DELAYS_MS[attempt] ?? 0;
    const delayMs = delayOf(delivery);
    assert.ok(delayMs >= plannedMs * 0.9 - 2 && delayMs <= plannedMs * 1.1 + 2, `${delayMs} ms after ${attempt}`);
    setup.clock.push(delayMs);
    await look();
  }
  assert.equal(receiver.requests.length, 10);
  assert.equal(new Set(receiver.requests.map(webhookId)).size, 1);
  const times = receiver.requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  assert.deepEqual(
    times.toSorted((one, other) => one - other),
    times,
  );
  assert.ok((times.at(-1) ?? 0) - (times[0] ?? 0) > 67 * 3_600, 'the timestamp is that of the attempt');
});

test('what is not due yet is not sent', async (context) => {
  const { receiver, endpoint, look } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  setup.clock.push(5.5 * SECOND_MS);
  const failedTwice = only(await setup.untilAttempts(endpoint, 2));
  setup.clock.push(delayOf(failedTwice) - 20 * SECOND_MS);
  await look();
  await setup.succeed(1);
  // Something later that is due arrives, and what is not due has not been sent before it.
  await receiver.untilReceived(3);
  assert.equal(receiver.requests.filter((request) => webhookId(request) === failedTwice.id).length, 2);
});

for (const [name, retryAfter, leastMs, mostMs] of [
  ['in seconds', () => '120', 120 * SECOND_MS, 121 * SECOND_MS],
  ['as a date', (nowMs: number) => new Date(nowMs + 600_000).toUTCString(), 590 * SECOND_MS, 601 * SECOND_MS],
  ['that is longer than a day', () => '8000000', DAY_MS, DAY_MS + SECOND_MS],
  ['that is sooner than the schedule', () => '1', 4_500, 5_500],
] as const) {
  test(`a Retry-After ${name} is honoured`, async (context) => {
    const { endpoint } = await begin(context, (response) => {
      response.writeHead(429, { 'retry-after': retryAfter(setup.clock()) }).end();
    });
    const delivery = only(await setup.untilAttempts(endpoint, 1));
    const delayMs = delayOf(delivery);
    assert.ok(delayMs >= leastMs - 2 && delayMs <= mostMs + 2, `${delayMs} ms`);
  });
}

test('a redirect is a failure, and nobody follows it', async (context) => {
  const elsewhere = await startCallbackReceiver(context);
  const { endpoint } = await begin(context, respondWith(307, '', { location: elsewhere.callbackUrl }));
  const delivery = only(await setup.untilAttempts(endpoint, 1));
  assert.equal(delivery.state, 'pending');
  assert.equal(delivery.tries[0]?.http_status, 307);
  assert.equal(elsewhere.requests.length, 0);
});

test('any 2xx is a success, with or without an answer', async (context) => {
  const { endpoint, receiver } = await begin(context, respondWith(299, 'this is 299'));
  await setup.untilAttempts(endpoint, 1);
  receiver.respond = (response) => response.writeHead(204).end();
  await setup.succeed(1);
  const deliveries = await setup.untilAttempts(endpoint, 2);
  assert.deepEqual(
    deliveries.map(({ state, tries }) => [state, tries[0]?.http_status, tries[0]?.answer, tries[0]?.error]),
    [
      ['delivered', 299, 'this is 299', null],
      ['delivered', 204, '', null],
    ],
  );
});

test('a receiver that nobody reaches is a failure with a reason that can be shown', async (context) => {
  const { endpoint } = await begin(context, respondWith(200));
  const gone = await startCallbackReceiver(context);
  await setup.database.query('update tiba.callback_endpoints set url = $1 where endpoint_id = $2', [
    gone.callbackUrl.replace(/:\d+\//, ':9/'),
    endpoint.endpointId,
  ]);
  await setup.succeed(1);
  const delivery = (await setup.untilAttempts(endpoint, 2)).at(-1);
  assert.equal(delivery?.tries[0]?.http_status, null);
  assert.equal(delivery?.tries[0]?.answer, null);
  assert.match(delivery?.tries[0]?.error ?? '', /127\.0\.0\.1/);
});

test('410 disables the endpoint, the operator reads of it, and nothing more is sent', async (context) => {
  const { endpoint, receiver, look } = await begin(context, respondWith(410));
  await setup.untilAttempts(endpoint, 1);
  const { disabled_reason: reason, failing_since: failingSince } = await setup.stateOf(endpoint);
  assert.equal(reason, 'gone');
  assert.ok(failingSince instanceof Date);
  const line = setup.logged.find(({ endpointId }) => endpointId === endpoint.endpointId);
  assert.equal(line?.['msg'], 'callback endpoint disabled');
  assert.equal(line?.['reason'], 'gone');

  // What happens from now on is not owed to it, and what was stays pending and unsent.
  await setup.succeed(1);
  setup.clock.push(DAY_MS);
  const witness = await startCallbackReceiver(context);
  await setup.addEndpoint(witness.callbackUrl);
  await setup.succeed(1);
  await look();
  await witness.untilReceived(1);
  assert.equal(receiver.requests.length, 1);
  assert.equal(only(await setup.deliveriesTo(endpoint)).state, 'pending');
});

test('failing_since is set by the first failure and cleared by a success', async (context) => {
  const { endpoint, receiver, look } = await begin(context, respondWith(503));
  const first = only(await setup.untilAttempts(endpoint, 1));
  const { failing_since: failingSince } = await setup.stateOf(endpoint);
  assert.ok(Math.abs((failingSince?.getTime() ?? 0) - (first.tries[0]?.ended_ms ?? 0)) < 5);

  setup.clock.push(6 * SECOND_MS);
  await look();
  await setup.untilAttempts(endpoint, 2);
  assert.deepEqual((await setup.stateOf(endpoint)).failing_since, failingSince);

  receiver.respond = respondWith(200);
  await setup.succeed(1);
  await setup.untilAttempts(endpoint, 3);
  assert.equal((await setup.stateOf(endpoint)).failing_since, null);
});

test('an endpoint that has failed for five days is disabled by its next failure, not before', async (context) => {
  const { endpoint } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  setup.clock.push(5 * DAY_MS - 60 * SECOND_MS);
  await setup.succeed(1);
  await setup.untilAttempts(endpoint, 2);
  assert.equal((await setup.stateOf(endpoint)).disabled_reason, null);

  setup.clock.push(60 * SECOND_MS);
  await setup.succeed(1);
  await eventually('the endpoint to be disabled', async () => (await setup.stateOf(endpoint)).disabled_at !== null);
  assert.equal((await setup.stateOf(endpoint)).disabled_reason, 'failing');
});

test('an endpoint that succeeded in between has not failed for five days', async (context) => {
  const { endpoint, receiver } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  setup.clock.push(4 * DAY_MS);
  receiver.respond = respondWith(200);
  await setup.succeed(1);
  await eventually('the success', async () =>
    (await setup.deliveriesTo(endpoint)).some(({ state }) => state === 'delivered'),
  );
  receiver.respond = respondWith(500);
  setup.clock.push(2 * DAY_MS);
  await setup.succeed(1);
  await eventually('another failure', async () => (await setup.stateOf(endpoint)).failing_since !== null);
  assert.equal((await setup.stateOf(endpoint)).disabled_reason, null);
});

test('a replayed delivery begins the schedule anew, and counts its attempts on', async (context) => {
  const { endpoint, look } = await begin(context, respondWith(500));
  await setup.untilAttempts(endpoint, 1);
  await setup.database.query(
    `update tiba.callback_deliveries
        set state = 'exhausted', attempts = 10, attempts_before = 0, ended_at = now() where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  await setup.database.query(
    `update tiba.callback_deliveries
        set state = 'pending', attempts_before = attempts, next_attempt_at = now(), ended_at = null
      where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  await look();
  const delivery = only(await setup.untilAttempts(endpoint, 2));
  assert.equal(delivery.state, 'pending');
  assert.equal(delivery.tries.at(-1)?.attempt, 11);
  assert.ok(delayOf(delivery) <= 5_502, 'the second attempt of a schedule comes after five seconds');
});

test('the log names no address, secret or name', async () => {
  const text = JSON.stringify(setup.logged);
  assert.ok(setup.logged.length > 0);
  for (const kept of ['KEPT-OUT-OF-LOGS', 'whsec_', 'BUDI SANTOSO', '1234567890']) {
    assert.ok(!text.includes(kept), kept);
  }
});
