import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { LEASE_MS } from '../../apps/server/src/callbacks/dispatcher.ts';
import { eventually } from '../support/eventually.ts';
import { neverRespond, respondWith } from '../support/http-receiver.ts';
import { timeLimitMs } from '../support/suite-environment.ts';
import { type DeliverySetup, type Endpoint, setUpDeliveries } from './delivery-setup.ts';
import { startCallbackReceiver, webhookId } from './webhook.ts';

/** Many endpoints and many processes at the same time. */

const SLOTS = 32;
/** Longer than a process that stops waits for PostgreSQL, and shorter than an attempt may take. */
const LATE_MS = 6_000;

let setup: DeliverySetup & { close(): Promise<void> };
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

async function statesOf(endpoint: Endpoint): Promise<Record<string, number>> {
  const states: Record<string, number> = {};
  for (const { state } of await setup.deliveriesTo(endpoint)) states[state] = (states[state] ?? 0) + 1;
  return states;
}

async function disable(...endpoints: readonly Endpoint[]): Promise<void> {
  await setup.database.query(
    `update tiba.callback_endpoints set disabled_at = now(), disabled_reason = 'client' where endpoint_id = any ($1)`,
    [endpoints.map(({ endpointId }) => endpointId)],
  );
}

test('a receiver that hangs holds only its own slots and delays no other endpoint', async (context) => {
  const hanging = await startCallbackReceiver(context, neverRespond);
  const healthy = await startCallbackReceiver(context);
  const hung = await setup.addEndpoint(hanging.callbackUrl);
  const well = await setup.addEndpoint(healthy.callbackUrl);
  setup.startDispatcher(context);

  await setup.succeed(100);
  await hanging.untilReceived(SLOTS);
  await eventually('all of the healthy one', async () => (await statesOf(well))['delivered'] === 100);
  await setup.succeed(1);
  const startedMs = performance.now();
  await healthy.untilReceived(101);
  assert.ok(performance.now() - startedMs < timeLimitMs(2_000), 'it did not wait for the receiver that hangs');
  assert.equal(hanging.requests.length, SLOTS);
  assert.deepEqual(await statesOf(hung), { pending: 101 });
  await disable(hung, well);
});

test('two processes deliver each event once to each endpoint that wants it', async (context) => {
  const receivers = await Promise.all([startCallbackReceiver(context), startCallbackReceiver(context)]);
  const [all, failuresOnly] = receivers;
  const everything = await setup.addEndpoint(all.callbackUrl);
  const failures = await setup.addEndpoint(failuresOnly.callbackUrl, ['disbursement.failed']);
  setup.startDispatcher(context);
  setup.startDispatcher(context);

  const expected: string[] = [];
  for (let round = 0; round < 10; round += 1) expected.push(...(await setup.succeed(30)));
  await eventually('all to be delivered', async () => (await statesOf(everything))['delivered'] === 300);
  assert.deepEqual(all.requests.map(webhookId).toSorted(), expected.toSorted());
  assert.equal(failuresOnly.requests.length, 0);
  assert.deepEqual(await statesOf(failures), {});
  await disable(everything, failures);
});

test('no two processes send the same delivery at the same time', async (context) => {
  const inFlight = new Set<string>();
  let twice = 0;
  const failed = new Set<string>();
  const receiver = await startCallbackReceiver(context, (response, request) => {
    const id = webhookId(request);
    if (inFlight.has(id)) twice += 1;
    inFlight.add(id);
    // Every third fails at first, so that deliveries are claimed again while others are in flight.
    const fails = Number(id.match(/(\d+)_1$/)?.[1]) % 3 === 0 && !failed.has(id);
    if (fails) failed.add(id);
    setTimeout(() => {
      inFlight.delete(id);
      respondWith(fails ? 500 : 200)(response, request);
    }, 20);
  });
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const dispatchers = [setup.startDispatcher(context), setup.startDispatcher(context), setup.startDispatcher(context)];
  for (let round = 1; round <= 6; round += 1) {
    await setup.succeed(20);
    await setup.clock.advance(3_000);
    await Promise.all(dispatchers.map(({ wakeDueEndpoints }) => wakeDueEndpoints()));
    await setup.untilAttempts(endpoint, round * 20);
  }
  await setup.clock.advance(6_000);
  await Promise.all(dispatchers.map(({ wakeDueEndpoints }) => wakeDueEndpoints()));
  await eventually('all to be delivered', async () => (await statesOf(endpoint))['delivered'] === 120);
  assert.equal(failed.size, 40);
  assert.equal(twice, 0);
  const deliveries = await setup.deliveriesTo(endpoint);
  for (const { results, attempts } of deliveries) {
    assert.deepEqual(
      results.map(({ attempt }) => attempt),
      Array.from({ length: attempts }, (_, index) => index + 1),
      'each attempt is recorded once',
    );
  }
  assert.equal(
    receiver.requests.length,
    deliveries.reduce((sum, { attempts }) => sum + attempts, 0),
  );
  await disable(endpoint);
});

test('a disabled endpoint gets no deliveries', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const off = await setup.addEndpoint(receiver.callbackUrl);
  await disable(off);
  const { wakeDueEndpoints } = setup.startDispatcher(context);
  await setup.succeed(3);
  await wakeDueEndpoints();
  assert.deepEqual(await statesOf(off), {});
});

test('pending deliveries of a disabled endpoint are sent when it is enabled again', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  await setup.succeed(5);
  await disable(endpoint);
  const { wakeDueEndpoints } = setup.startDispatcher(context);
  await wakeDueEndpoints();
  assert.deepEqual(await statesOf(endpoint), { pending: 5 });
  await setup.database.query(
    `update tiba.callback_endpoints set disabled_at = null, disabled_reason = null where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  await wakeDueEndpoints();
  await receiver.untilReceived(5);
  await eventually('all to be recorded', async () => (await statesOf(endpoint))['delivered'] === 5);
  await disable(endpoint);
});

/** Regression: what a receiver answered later than 5 s after SIGTERM was sent to it again. */
test('a dispatcher that closes waits for receivers that answer late, and sends nothing to them again', async (context) => {
  const receiver = await startCallbackReceiver(context, (response) => {
    setTimeout(() => response.end('late, but complete'), LATE_MS);
  });
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const dispatcher = setup.startDispatcher(context);
  await setup.succeed(3);
  await receiver.untilReceived(3);

  const closing = dispatcher.close();
  await setup.succeed(2);
  await closing;
  assert.deepEqual(await statesOf(endpoint), { delivered: 3, pending: 2 });
  receiver.respond = respondWith(200);
  await setup.clock.advance(LEASE_MS);
  const { wakeDueEndpoints } = setup.startDispatcher(context);
  await wakeDueEndpoints();
  await eventually('all of them', async () => (await statesOf(endpoint))['delivered'] === 5);
  assert.equal(receiver.requests.length, 5);
  await disable(endpoint);
});
