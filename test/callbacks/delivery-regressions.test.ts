import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { eventually } from '../support/eventually.ts';
import { type DeliverySetup, setUpDeliveries } from './delivery-setup.ts';
import { startCallbackReceiver } from './webhook.ts';

/** Each is named for the defect that it keeps away. */

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

// The results of many endpoints in one statement took the cross product of them all, met the deadline, and were tried
// again for ever, while everything was sent again and again.
test('results of 150 endpoints at once are recorded', async (context) => {
  const receiver = await startCallbackReceiver(context);
  for (let count = 0; count < 150; count += 1) await setup.addEndpoint(receiver.callbackUrl);
  setup.start(context);
  await setup.succeed(3);
  await eventually('all to be delivered', async () => {
    const [row] = await setup.database.query<{ count: string }>(
      "select count(*) from tiba.callback_deliveries where state = 'delivered'",
    );
    return Number(row?.count) === 450;
  });
  assert.equal(receiver.requests.length, 450, 'each was sent once');
  await disableAll();
});

// Only its API was closed to it: callbacks with names and account numbers went on.
test('a client whose access was withdrawn is sent nothing, and what it is owed when it is let in again', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const engine = setup.start(context);
  await changeClient(setup.database, 'alpha', 'disable');
  await setup.succeed(1);
  await engine.wakeDueEndpoints();
  assert.deepEqual(
    (await setup.deliveriesTo(endpoint)).map(({ state, attempts }) => [state, attempts]),
    [['pending', 0]],
  );
  assert.equal(receiver.requests.length, 0);
  await changeClient(setup.database, 'alpha', 'enable');
  await receiver.untilReceived(1);
  await disableAll();
});

// Its failure counted for the new run: what had just been replayed was exhausted, or put off for a day.
test('a replay is not undone by an attempt that was in flight', async (context) => {
  const held: ServerResponse[] = [];
  const receiver = await startCallbackReceiver(context, (response) => void held.push(response));
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  setup.start(context);
  await setup.succeed(1);
  await receiver.untilReceived(1);
  await setup.database.query(
    `update tiba.callback_deliveries set attempts_before = attempts, next_attempt_at = now() + interval '1 hour'
      where endpoint_id = $1`,
    [endpoint.endpointId],
  );
  for (const response of held) response.writeHead(500).end();
  const [delivery] = await setup.untilAttempts(endpoint, 1);
  assert.equal(delivery?.state, 'pending');
  const minutes = ((delivery?.next_attempt_at.getTime() ?? 0) - Date.now()) / 60_000;
  assert.ok(minutes > 50 && minutes < 61, `it is due as the replay had it, in ${minutes} minutes`);
  await disableAll();
});
