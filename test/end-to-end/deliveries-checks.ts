import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';
import { webhookId } from '../callbacks/webhook.ts';
import type { ReceivedRequest } from '../support/http-receiver.ts';
import type { ListedDelivery } from './caller.ts';
import type { ConsistencyLog } from './consistency-log.ts';
import { type ListedEvent, readCallback, transactionIdOf } from './received-callbacks.ts';

/** What holds for events and callbacks, whatever has happened. */

/** Events are numbered without gaps, and those of each transaction come in the order of its versions, without gaps. */
export function assertInOrder(events: readonly ListedEvent[], witness: ConsistencyLog): void {
  const versions = new Map<string, number>();
  for (const [index, { sequence, eventId, version, data }] of events.entries()) {
    assert.equal(sequence, index + 1, 'the sequence has a gap or a repetition');
    const transactionId = transactionIdOf(data);
    assert.equal(eventId, `evt_${transactionId}_${version}`);
    const before = versions.get(transactionId);
    // The first is 1 when the transaction was final as soon as it was heard of.
    if (before === undefined) assert.ok(version === 1 || version === 2, `${transactionId} begins with ${version}`);
    else assert.equal(version, before + 1, `the version of ${transactionId}`);
    versions.set(transactionId, version);
    witness.record({ transactionId, version, data, by: 'event' });
  }
}

/** Each callback tells of one event, under that event's own ID, word for word. */
export function assertCallbacksMatchEvents(
  requests: readonly ReceivedRequest[],
  events: ReadonlyMap<string, ListedEvent>,
  witness: ConsistencyLog,
): void {
  for (const request of requests) {
    const { body, path } = request;
    const id = webhookId(request);
    const { type, timestamp, version, data } = readCallback(body);
    const transactionId = transactionIdOf(data);
    assert.equal(id, `evt_${transactionId}_${version}`, `${path} was told of an event under another ID`);
    const event = events.get(id);
    assert.ok(event !== undefined, `${path} was told of ${id}, which is no event`);
    assert.deepEqual(
      { type, timestamp, version },
      { type: event.type, timestamp: event.timestamp, version: event.version },
    );
    witness.record({ transactionId, version, data, by: `callback to ${path}` });
  }
}

/** An endpoint's secrets in their order, each with the moment from which on it signs. */
export type Secrets = readonly { readonly secret: string; readonly from: number }[];

/** Around a rotation nobody can say which secrets a callback was signed with. */
const ROTATION_MARGIN_MS = 2_000;

/** A secret signs until the next but one takes its place: each that surely held has signed, and nobody else. */
export function assertSigned(request: ReceivedRequest, secrets: Secrets): void {
  const sentMs = Number(request.headers['webhook-timestamp']) * 1000;
  const held = secrets.map(({ secret, from }, index) => {
    const until = secrets[index + 2]?.from ?? Number.POSITIVE_INFINITY;
    return {
      perhaps: from - ROTATION_MARGIN_MS <= sentMs && sentMs <= until + ROTATION_MARGIN_MS,
      surely: from + ROTATION_MARGIN_MS <= sentMs && sentMs <= until - ROTATION_MARGIN_MS,
      signed: verifies(request, secret),
    };
  });
  assert.ok(
    held.some(({ perhaps, signed }) => perhaps && signed),
    `${webhookId(request)} is signed with no secret that holds`,
  );
  assert.ok(
    held.every(({ surely, signed }) => signed || !surely),
    `${webhookId(request)} is not signed with each secret that holds`,
  );
}

/** By the library's own signer: its verifier would find what came more than five minutes ago too old. */
function verifies(request: ReceivedRequest, secret: string): boolean {
  const { body, headers } = request;
  const sentAt = new Date(Number(headers['webhook-timestamp']) * 1000);
  const signature = new Webhook(secret).sign(webhookId(request), sentAt, body);
  return String(headers['webhook-signature']).split(' ').includes(signature);
}

/** What an endpoint is owed is there, once each, and what is said to be delivered was accepted. */
export function assertDeliveriesComplete(
  deliveries: readonly ListedDelivery[],
  owed: ReadonlySet<string>,
  requests: readonly ReceivedRequest[],
): void {
  assert.deepEqual(deliveries.map((each) => each.event_id).sort(), [...owed].sort(), 'the ledger of an endpoint');
  const accepted = new Set(requests.filter(({ answered }) => answered !== null && answered < 300).map(webhookId));
  for (const { event_id: eventId, state, attempt_count: attempts } of deliveries) {
    if (state === 'delivered') assert.ok(accepted.has(eventId), `${eventId} is delivered, and nobody accepted it`);
    if (state === 'exhausted') assert.ok(attempts >= 10, `${eventId} is given up after ${attempts} attempts`);
  }
  for (const id of requests.map(webhookId)) assert.ok(owed.has(id), `${id} was delivered and is not owed`);
}
