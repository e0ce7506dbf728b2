import assert from 'node:assert/strict';
import { arrivalsOf } from './callback-commands.ts';
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

/** Brings a history to its end, and holds all that anybody was ever told in it against the model, and against itself. */
export async function assertInvariants(history: History, model: Model): Promise<void> {
  await finishHistory(history, model);
  const { caller, receiver, consistencyLog, context } = history;

  for (const place of new Set([...Array(FIRST_PLAIN).keys(), ...model.transactions.keys()])) {
    await readAndCompare(history, model, place);
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
      assert.ok(arrivalsOf(history, endpoint, eventId) > before, `${eventId} was replayed, and did not come again`);
    }
  }
  assert.deepEqual(consistencyLog.contradictions(), []);
  // The witness has held what was told of one version against each other, whoever told it: this is the latest.
  for (const { index, status, version } of model.transactions.values()) {
    if (status !== 'PROCESS') assert.ok(byId.has(eventIdOf(index, version)), 'the latest version is that of an event');
  }
}

/** Receivers are well again, and time passes until nothing is pending where it can be delivered. */
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
