import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { after, before, type TestContext, test } from 'node:test';
import pg from 'pg';
import { LEASE_MS } from '../../apps/server/src/callbacks/dispatcher.ts';
import { eventually } from '../support/eventually.ts';
import { neverRespond, respondWith } from '../support/http-receiver.ts';
import { type DeliverySetup, SECRET_KEY, setUpDeliveries } from './delivery-setup.ts';
import { startCallbackReceiver, webhookId } from './webhook.ts';

/** After any crash at any moment, an event is delivered at least once, always with the same webhook-id. */

let setup: DeliverySetup & { close(): Promise<void> };
before(async () => {
  setup = await setUpDeliveries();
});
after(() => setup?.close());

async function startProcess(context: TestContext): Promise<ChildProcess> {
  const { connectionString = '' } = setup.testDatabase.connection;
  const child = fork(new URL('delivery-process.ts', import.meta.url), [
    connectionString,
    SECRET_KEY.toString('base64'),
  ]);
  context.after(() => child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

test('a callback is sent again with the same id when its process is killed before the answer', async (context) => {
  const receiver = await startCallbackReceiver(context, neverRespond);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const child = await startProcess(context);
  const [id] = await setup.succeed(1);
  await receiver.untilReceived(1);
  await kill(child);

  receiver.respond = respondWith(200);
  const { wakeDueEndpoints } = setup.startDispatcher(context);
  await wakeDueEndpoints();
  // Until the lease ends, the delivery may still be in flight elsewhere; new events are sent at once.
  const [other] = await setup.succeed(1);
  await receiver.untilReceived(2);
  assert.deepEqual(receiver.requests.map(webhookId), [id, other]);
  await setup.clock.advance(LEASE_MS);
  await wakeDueEndpoints();
  const [first, , again] = await receiver.untilReceived(3);
  assert.ok(again !== undefined);
  assert.equal(webhookId(again), id);
  assert.equal(again.body, first?.body);
  assert.ok(Number(again.headers['webhook-timestamp']) > Number(first?.headers['webhook-timestamp']));
  const [delivery] = await setup.untilAttempts(endpoint, 2);
  assert.equal(delivery?.state, 'delivered');
  // The attempt of the killed process is counted, but its result was never recorded.
  assert.equal(delivery.attempts, 2);
  assert.deepEqual(
    delivery.results.map(({ attempt }) => attempt),
    [2],
  );
});

test('a callback is sent again with the same id when its process is killed before recording the answer', async (context) => {
  const child = await startProcess(context);
  const receiver = await startCallbackReceiver(context, (response) => {
    // The process is stopped before the answer arrives, so it cannot have recorded it.
    child.kill('SIGSTOP');
    response.end('thank you');
  });
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  const [id] = await setup.succeed(1);
  await receiver.untilReceived(1);
  await kill(child);

  receiver.respond = respondWith(200);
  await setup.clock.advance(LEASE_MS);
  const { wakeDueEndpoints } = setup.startDispatcher(context);
  await wakeDueEndpoints();
  const [, again] = await receiver.untilReceived(2);
  assert.ok(again !== undefined);
  assert.equal(webhookId(again), id);
  const [delivery] = await setup.untilAttempts(endpoint, 1);
  assert.equal(delivery?.state, 'delivered');
});

test('no delivery is lost when PostgreSQL closes every connection again and again', async (context) => {
  const receiver = await startCallbackReceiver(context);
  const endpoint = await setup.addEndpoint(receiver.callbackUrl);
  setup.startDispatcher(context);
  const administrator = new pg.Client(setup.testDatabase.connection);
  await administrator.connect();
  context.after(() => administrator.end());
  const cut = (): Promise<unknown> =>
    administrator.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
    );

  const expected = new Set<string>();
  for (let round = 1; round <= 5; round += 1) {
    await eventually('a change to go through', async () => {
      try {
        for (const id of await setup.succeed(20)) expected.add(id);
        return true;
      } catch {
        return false;
      }
    });
    await cut();
  }
  await eventually('all to be delivered', async () => {
    await setup.clock.advance(500);
    const found = await setup.deliveriesTo(endpoint).catch(() => []);
    return found.length >= expected.size && found.every(({ state }) => state === 'delivered');
  });
  for (const id of expected)
    assert.ok(
      receiver.requests.some((each) => webhookId(each) === id),
      id,
    );
});
