import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, test } from 'node:test';
import { changeClient } from '../../apps/server/src/postgres/clients.ts';
import { eventually } from '../support/eventually.ts';
import { type DeliverySetup, setUpDeliveries } from './delivery-setup.ts';
import { startCallbackReceiver } from './webhook.ts';

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

// Recording the results of many endpoints in one statement built their cross product and ran into the statement
// timeout. It was retried without end, and meanwhile every callback was sent again and again.
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

// Disabling a client only closed the API: callbacks with names and account numbers continued.
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

// The failure counted for the new run: a delivery that had just been replayed became exhausted or was delayed for a
// day.
test('an attempt that was in flight during a replay does not undo it', async (context) => {
  const held: ServerResponse[] = [];
  const receiver = await startCallbackReceiver(context, (response) => void held.push(response));
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  setup.startDispatcher(context);
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
  assert.ok(minutes > 50 && minutes < 61, `the replay's due time is kept: ${minutes} minutes`);
  await disableAll();
});
