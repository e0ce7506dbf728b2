import assert from 'node:assert/strict';
import fc from 'fast-check';
import { EVENT_KINDS, type EventKind } from '../../apps/server/src/domain/event.ts';
import { webhookId } from '../callbacks/webhook.ts';
import { type ListedDelivery, readDeliveries } from './caller.ts';
import { RECEIVER_BEHAVIORS } from './client-receiver.ts';
import { DETAILS, FIRST_PLAIN } from './details.ts';
import { BARE_UPDATE, type Command } from './feed-commands.ts';
import { feed, type History, makeDeliveriesDue, restart, until } from './history.ts';
import { applyUpdate, type Model, type ModelEndpoint, missingEvents, type Update } from './model.ts';

const ENDPOINTS_MAX = 4;
const ENDPOINTS = '/api/v1/callback-endpoints';
const DELIVERIES = '/api/v1/callback-deliveries';

/** Chooses one of the existing endpoints or deliveries. */
const which = fc.nat(7);
const kinds = fc.oneof(fc.constant([...EVENT_KINDS]), fc.subarray([...EVENT_KINDS], { minLength: 1 }));

function choose<Item>(items: readonly Item[], choice: number): Item {
  const item = items[choice % items.length];
  assert.ok(item !== undefined, 'the command needs at least one to choose from');
  return item;
}

const hasEndpoints = (model: Readonly<Model>): boolean => model.endpoints.length > 0;

export async function registerEndpoint(
  { endpoints }: Model,
  { caller, receiver, context: { clientId } }: History,
  kinds: readonly EventKind[],
): Promise<void> {
  const path = `/${clientId}/${endpoints.length}`;
  const answer = await caller.call('POST', ENDPOINTS, { url: receiver.url(path), kinds });
  assert.equal(answer.status, 201, answer.text);
  const { endpoint_id: endpointId, secret } = answer.json.data as { endpoint_id: string; secret: string };
  const secrets = [{ secret, from: 0 }];
  endpoints.push({ endpointId, path, kinds, enabled: true, secrets, due: new Set(), replays: [] });
}

const register = kinds.map(
  (kinds): Command => ({
    check: ({ endpoints }) => endpoints.length < ENDPOINTS_MAX,
    run: (model, history) => registerEndpoint(model, history, kinds),
    toString: () => `register for ${kinds.join(', ')}`,
  }),
);

const change = fc.record({ which, kinds: fc.option(kinds), enabled: fc.boolean() }).map(
  ({ which, kinds, enabled }): Command => ({
    check: hasEndpoints,
    async run({ endpoints }, { caller }) {
      const endpoint = choose(endpoints, which);
      const changes = { disabled: !enabled, ...(kinds === null ? {} : { kinds }) };
      const answer = await caller.call('PATCH', `${ENDPOINTS}/${endpoint.endpointId}`, changes);
      assert.equal(answer.json.data?.['status'], enabled ? 'enabled' : 'disabled', answer.text);
      endpoint.enabled = enabled;
      endpoint.kinds = kinds ?? endpoint.kinds;
    },
    toString: () =>
      `${enabled ? 'enable' : 'disable'} endpoint ${which}${kinds === null ? '' : ` for ${kinds.join(', ')}`}`,
  }),
);

const rotate = which.map(
  (which): Command => ({
    check: hasEndpoints,
    async run({ endpoints }, { caller }) {
      const { endpointId, secrets } = choose(endpoints, which);
      const answer = await caller.call('POST', `${ENDPOINTS}/${endpointId}/rotate-secret`);
      assert.equal(answer.status, 200, answer.text);
      secrets.push({ secret: String(answer.json.data?.['secret']), from: Date.now() });
    },
    toString: () => `rotate the secret of endpoint ${which}`,
  }),
);

const changeReceiver = fc
  .record({ which, behavior: fc.constantFrom(...RECEIVER_BEHAVIORS.filter((behavior) => behavior !== 'is gone')) })
  .map(
    ({ which, behavior }): Command => ({
      check: hasEndpoints,
      async run({ endpoints }, { receiver }) {
        receiver.setBehavior(choose(endpoints, which).path, behavior);
      },
      toString: () => `the receiver of endpoint ${which} ${behavior}`,
    }),
  );

async function deliveryOf(
  { caller }: History,
  { endpointId }: ModelEndpoint,
  eventId: string,
): Promise<ListedDelivery> {
  const deliveries = await readDeliveries(caller, endpointId);
  const delivery = deliveries.find((each) => each.event_id === eventId);
  assert.ok(delivery !== undefined, `${eventId} has no delivery to ${endpointId}`);
  return delivery;
}

export const countArrivals = ({ receiver }: History, { path }: ModelEndpoint, eventId: string): number =>
  receiver.requests.filter((request) => request.path === path && webhookId(request) === eventId).length;

const hasDueEvents = ({ endpoints }: Readonly<Model>, choice: number): boolean =>
  endpoints.length > 0 && choose(endpoints, choice).due.size > 0;

const replayOne = fc.record({ which, dueEvent: which }).map(
  ({ which, dueEvent }): Command => ({
    check: (model) => hasDueEvents(model, which),
    async run({ endpoints }, history) {
      const endpoint = choose(endpoints, which);
      const eventId = choose([...endpoint.due], dueEvent);
      const delivery = await deliveryOf(history, endpoint, eventId);
      const arrivals = countArrivals(history, endpoint, eventId);
      const answer = await history.caller.call('POST', `${DELIVERIES}/${delivery.delivery_id}/replay`);
      if (!endpoint.enabled) {
        assert.equal(answer.json.error_code, 'ENDPOINT_DISABLED', answer.text);
        return;
      }
      assert.equal(answer.json.data?.['state'], 'pending', answer.text);
      // A delivery that was still pending may have arrived already.
      if (delivery.state !== 'pending') endpoint.replays.push({ eventId, arrivals });
    },
    toString: () => `replay delivery ${dueEvent} of endpoint ${which}`,
  }),
);

const replayRange = fc
  .record({ which, state: fc.constantFrom(null, 'missing', 'missing', 'delivered', 'exhausted', 'pending') })
  .map(
    ({ which, state }): Command => ({
      check: hasEndpoints,
      async run(model, { caller }) {
        const endpoint = choose(model.endpoints, which);
        const missing = missingEvents(model, endpoint);
        const answer = await caller.call('POST', `${DELIVERIES}/replay`, {
          endpoint_id: endpoint.endpointId,
          from: '2000-01-01T00:00:00Z',
          to: '9999-01-01T00:00:00Z',
          ...(state === null ? {} : { state }),
        });
        if (!endpoint.enabled) {
          assert.equal(answer.json.error_code, 'ENDPOINT_DISABLED', answer.text);
          return;
        }
        assert.equal(answer.json.data?.['has_more'], false, answer.text);
        const replayed = Number(answer.json.data?.['replayed']);
        if (state === null) assert.equal(replayed, endpoint.due.size + missing.length, answer.text);
        else if (state === 'missing') assert.equal(replayed, missing.length, answer.text);
        else assert.ok(replayed <= endpoint.due.size, answer.text);
        if (state === null || state === 'missing') for (const eventId of missing) endpoint.due.add(eventId);
      },
      toString: () => `replay ${state ?? 'all'} deliveries of endpoint ${which}`,
    }),
  );

const makeDue = fc.constant<Command>({
  check: hasEndpoints,
  run: (_model, history) => makeDeliveriesDue(history),
  toString: () => 'make pending deliveries due',
});

const receiverGone = which.map(
  (which): Command => ({
    check: (model) => hasDueEvents(model, which) && choose(model.endpoints, which).enabled,
    async run({ endpoints }, history) {
      const { caller, receiver } = history;
      const endpoint = choose(endpoints, which);
      receiver.setBehavior(endpoint.path, 'is gone');
      const delivery = await deliveryOf(history, endpoint, choose([...endpoint.due], 0));
      // An error when another delivery has reached the receiver first and disabled the endpoint.
      await caller.call('POST', `${DELIVERIES}/${delivery.delivery_id}/replay`);
      await until(`${endpoint.endpointId} is disabled because its receiver answered 410`, async () => {
        const answer = await caller.call('GET', `${ENDPOINTS}/${endpoint.endpointId}`);
        return answer.json.data?.['disabled_reason'] === 'gone';
      });
      endpoint.enabled = false;
      receiver.setBehavior(endpoint.path, 'accepts');
      await untilGoneIsRecorded(history, endpoint);
    },
    toString: () => `the receiver of endpoint ${which} is gone`,
  }),
);

/** A 410 that is recorded only later would disable the endpoint after a command has enabled it again. */
async function untilGoneIsRecorded(
  { database, receiver }: History,
  { endpointId, path }: ModelEndpoint,
): Promise<void> {
  await until('each 410 is recorded', async () => {
    const [row] = await database.query<{ count: number }>(
      'select count(*)::int as count from tiba.callback_attempts where endpoint_id = $1 and http_status = 410',
      [endpointId],
    );
    const answered = receiver.requests.filter((request) => request.path === path && request.answered === 410);
    return row?.count === answered.length;
  });
}

const exhaustDeliveries = which.map(
  (which): Command => ({
    check: (model) => hasDueEvents(model, which) && choose(model.endpoints, which).enabled,
    async run({ endpoints }, history) {
      const { endpointId, path } = choose(endpoints, which);
      history.receiver.setBehavior(path, 'fails');
      await until(`nothing is pending for ${endpointId}`, async () => {
        await makeDeliveriesDue(history);
        return (await readDeliveries(history.caller, endpointId)).every(({ state }) => state !== 'pending');
      });
    },
    toString: () => `the receiver of endpoint ${which} fails until no delivery is pending`,
  }),
);

const succeeds = (index: number): Update => ({ ...BARE_UPDATE, index, status: 'SUCCESS', complete: true });

/** Kills the service after it has sent a callback and before it has recorded the outcome. */
const killedWhileSending = fc
  .record({ which, moment: fc.constantFrom('before its answer' as const, 'after its answer' as const) })
  .map(
    ({ which, moment }): Command => ({
      check: (model) =>
        hasEndpoints(model) && unusedIndex(model) !== null && wantsSuccesses(choose(model.endpoints, which)),
      async run(model, history) {
        const { service, receiver } = history;
        const { path } = choose(model.endpoints, which);
        const index = unusedIndex(model) ?? 0;
        const update = succeeds(index);
        applyUpdate(model, update);
        receiver.setBehavior(path, 'accepts');
        receiver.onNext(path, moment, () => void service.kill());
        await feed(history, [update], async () => {
          await until('the callback has arrived, and the service was killed', () => !service.isRunning());
        });
      },
      toString: () => `kill -9 when a callback has arrived at endpoint ${which}, ${moment}`,
    }),
  );

const wantsSuccesses = ({ enabled, kinds }: ModelEndpoint): boolean =>
  enabled && kinds.includes('disbursement.succeeded');

/** The index of a transaction without any status update so far. */
function unusedIndex({ transactions }: Readonly<Model>): number | null {
  const found = DETAILS.findIndex((_, index) => index >= FIRST_PLAIN && !transactions.has(index));
  return found === -1 ? null : found;
}

/** Kills the service after it has committed an event and before it delivers it. */
const killedAfterCommit = fc.constant<Command>({
  check: (model) => unusedIndex(model) !== null,
  async run(model, history) {
    const index = unusedIndex(model) ?? 0;
    const update = succeeds(index);
    applyUpdate(model, update);
    await feed(history, [update]);
    await history.service.kill();
    await restart(history);
  },
  toString: () => 'kill -9 as soon as an update is acknowledged',
});

export const callbackCommands = {
  register,
  change,
  rotate,
  changeReceiver,
  replayOne,
  replayRange,
  makeDue,
  receiverGone,
  exhaustDeliveries,
  killedWhileSending,
  killedAfterCommit,
};
