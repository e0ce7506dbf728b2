import assert from 'node:assert/strict';
import { countArrivals } from './callback-commands.ts';
import { readDeliveries, readEvents } from './caller.ts';
import {
  assertCallbacksMatchEvents,
  assertDeliveriesComplete,
  assertInOrder,
  assertSigned,
} from './deliveries-checks.ts';
import { FIRST_PLAIN } from './details.ts';
import { type History, makeDeliveriesDue, readAndCompare, until } from './history.ts';
import { eventIdOf, type Model } from './model.ts';
import type { ListedEvent } from './received-callbacks.ts';

/** Finishes a history; compares everything that the service reported in it with the model and with itself. */
export async function assertInvariants(history: History, model: Model): Promise<void> {
  await finishHistory(history, model);
  const { caller, receiver, consistencyLog, context } = history;

  for (const index of new Set([...Array(FIRST_PLAIN).keys(), ...model.transactions.keys()])) {
    await readAndCompare(history, model, index);
  }
  const events = await readEvents(caller);
  assertInOrder(events, consistencyLog);
  const byId = new Map(events.map((event) => [event.eventId, event]));
  assert.deepEqual(kindsOf(events), new Map([...model.events].map(([id, { kind }]) => [id, kind])));

  const requests = receiver.requests.filter(({ path }) => path.startsWith(`/${context.clientId}/`));
  assertCallbacksMatchEvents(requests, byId, consistencyLog);
  for (const endpoint of model.endpoints) {
    const own = requests.filter(({ path }) => path === endpoint.path);
    for (const request of own) assertSigned(request, endpoint.secrets);
    const deliveries = await readDeliveries(caller, endpoint.endpointId);
    assertDeliveriesComplete(deliveries, endpoint.due, own);
    if (!endpoint.enabled) continue;
    assert.ok(deliveries.every(({ state }) => state !== 'pending'));
    const exhausted = new Set(deliveries.filter(({ state }) => state === 'exhausted').map((each) => each.event_id));
    for (const { eventId, arrivals: before } of endpoint.replays) {
      if (exhausted.has(eventId)) continue;
      assert.ok(countArrivals(history, endpoint, eventId) > before, `${eventId} was replayed but did not arrive again`);
    }
  }
  assert.deepEqual(consistencyLog.contradictions(), []);
  // The consistency log has compared all reports of each version; this checks that the latest version has an event.
  for (const { index, status, version } of model.transactions.values()) {
    if (status !== 'PROCESS') assert.ok(byId.has(eventIdOf(index, version)), 'the latest version is that of an event');
  }
}

/** Lets all receivers accept, and makes deliveries due until none is pending for an enabled endpoint. */
async function finishHistory(history: History, model: Model): Promise<void> {
  for (const { path } of model.endpoints) history.receiver.setBehavior(path, 'accepts');
  for (const { endpointId } of model.endpoints.filter(({ enabled }) => enabled)) {
    await until(`nothing is pending for ${endpointId}`, async () => {
      const isPending = (await readDeliveries(history.caller, endpointId)).some(({ state }) => state === 'pending');
      if (isPending) await makeDeliveriesDue(history);
      return !isPending;
    });
  }
}

const kindsOf = (events: readonly ListedEvent[]): Map<string, string> =>
  new Map(events.map(({ eventId, type }) => [eventId, type]));
