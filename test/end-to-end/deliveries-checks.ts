import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';
import { webhookId } from '../callbacks/webhook.ts';
import type { ReceivedRequest } from '../support/http-receiver.ts';
import type { ListedDelivery } from './caller.ts';
import type { ConsistencyLog } from './consistency-log.ts';
import { type ListedEvent, readCallback, transactionIdOf } from './received-callbacks.ts';

/** The guarantees about events and callbacks that hold at any time. */

/** Events are numbered without gaps; those of each transaction come in the order of its versions, without gaps. */
export function assertInOrder(events: readonly ListedEvent[], consistencyLog: ConsistencyLog): void {
  const versions = new Map<string, number>();
  for (const [index, { sequence, eventId, version, data }] of events.entries()) {
    assert.equal(sequence, index + 1, 'the sequence has a gap or a repetition');
    const transactionId = transactionIdOf(data);
    assert.equal(eventId, `evt_${transactionId}_${version}`);
    const previous = versions.get(transactionId);
    // The first version is 1 when the first status update of the transaction is already final.
    if (previous === undefined) assert.ok(version === 1 || version === 2, `${transactionId} begins with ${version}`);
    else assert.equal(version, previous + 1, `the version of ${transactionId}`);
    versions.set(transactionId, version);
    consistencyLog.record({ transactionId, version, data, by: 'event' });
  }
}

/** Each callback carries one event, with the event's own ID and exactly its data. */
export function assertCallbacksMatchEvents(
  requests: readonly ReceivedRequest[],
  events: ReadonlyMap<string, ListedEvent>,
  consistencyLog: ConsistencyLog,
): void {
  for (const request of requests) {
    const { body, path } = request;
    const id = webhookId(request);
    const { type, timestamp, version, data } = readCallback(body);
    const transactionId = transactionIdOf(data);
    assert.equal(id, `evt_${transactionId}_${version}`, `${path} received an event with another ID`);
    const event = events.get(id);
    assert.ok(event !== undefined, `${path} received ${id}, which is not an event`);
    assert.deepEqual(
      { type, timestamp, version },
      { type: event.type, timestamp: event.timestamp, version: event.version },
    );
    consistencyLog.record({ transactionId, version, data, by: `callback to ${path}` });
  }
}

/** An endpoint's secrets in their order, each with the time (Unix ms) from which it signs. */
export type Secrets = readonly { readonly secret: string; readonly from: number }[];

/** So close to a rotation, the test cannot know which secrets a callback was signed with. */
const ROTATION_MARGIN_MS = 2_000;

/** A secret signs until the second rotation after it: every valid secret has signed, and no other one. */
export function assertSigned(request: ReceivedRequest, secrets: Secrets): void {
  const sentMs = Number(request.headers['webhook-timestamp']) * 1000;
  const signatures = secrets.map(({ secret, from }, index) => {
    const until = secrets[index + 2]?.from ?? Number.POSITIVE_INFINITY;
    return {
      mayBeValid: from - ROTATION_MARGIN_MS <= sentMs && sentMs <= until + ROTATION_MARGIN_MS,
      mustBeValid: from + ROTATION_MARGIN_MS <= sentMs && sentMs <= until - ROTATION_MARGIN_MS,
      signed: verifies(request, secret),
    };
  });
  assert.ok(
    signatures.some(({ mayBeValid, signed }) => mayBeValid && signed),
    `${webhookId(request)} is not signed with any valid secret`,
  );
  assert.ok(
    signatures.every(({ mustBeValid, signed }) => signed || !mustBeValid),
    `${webhookId(request)} is not signed with every valid secret`,
  );
}

/** Uses the library's signer: its verifier rejects timestamps older than five minutes. */
function verifies(request: ReceivedRequest, secret: string): boolean {
  const { body, headers } = request;
  const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000);
  const signature = new Webhook(secret).sign(webhookId(request), sentAt, body);
  return String(headers['webhook-signature']).split(' ').includes(signature);
}

/** An endpoint has one delivery for each due event, and a delivery is `delivered` only if the receiver accepted it. */
export function assertDeliveriesComplete(
  deliveries: readonly ListedDelivery[],
  due: ReadonlySet<string>,
  requests: readonly ReceivedRequest[],
): void {
  assert.deepEqual(deliveries.map((each) => each.event_id).sort(), [...due].sort(), 'the deliveries of an endpoint');
  const accepted = new Set(requests.filter(({ answered }) => answered !== null && answered < 300).map(webhookId));
  for (const { event_id: eventId, state, attempt_count: attempts } of deliveries) {
    if (state === 'delivered')
      assert.ok(accepted.has(eventId), `${eventId} is delivered, but the receiver did not accept it`);
    if (state === 'exhausted') assert.ok(attempts >= 10, `${eventId} is exhausted after only ${attempts} attempts`);
  }
  for (const id of requests.map(webhookId)) assert.ok(due.has(id), `${id} was delivered but was not due`);
}
