import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { type JsonObject, numberText } from '../../../lib/exact-json.ts';
import { type CallbackEndpoint, findEndpoint, listEndpoints } from '../../../postgres/callback-endpoints.ts';
import {
  cancelRangeReplay,
  findRangeReplay,
  findReplayByKey,
  insertRangeReplay,
  listRangeReplays,
  type RangeReplay,
  REPLAY_STATES,
} from '../../../postgres/callback-replays.ts';
import type { Database } from '../../../postgres/database.ts';
import { type EventRange, REPLAYED_STATES, type ReplayedState } from '../../../postgres/delivery-replays.ts';
import { recordingAction } from '../../../postgres/operator-actions.ts';
import type { Authorize } from '../../authorize.ts';
import { isEndpointId } from '../../callbacks/endpoint-resource.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { ApiError } from '../../errors.ts';
import { SEQUENCE_MAX } from '../../events/schema.ts';
import { idempotencyKeyOf } from '../../idempotency-key.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../pages.ts';
import { instantParameter, invalidRequest, oneOf, searchParameters, wholeNumber } from '../../query-parameters.ts';
import { requireJson } from '../../request-body.ts';
import { actorOf, fieldsOf, reasonOf, showsActors } from '../action-request.ts';
import type { FourEyes } from '../four-eyes/four-eyes.ts';
import type { GuardedOperation } from '../four-eyes/guarded-operation.ts';
import { textParameter } from '../transactions/search-filter.ts';
import { countEvents } from './count-replay.ts';
import { cancelReplaySchema, createReplaySchema, listReplaysSchema, readReplaySchema } from './replay-schemas.ts';

export interface CallbackReplayDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  /** Days for which the attempts of deliveries are kept; 0: no limit. */
  readonly callbackDays: number;
  readonly fourEyes: Pick<FourEyes, 'guard'>;
}

const FIELDS = [
  'client_id',
  'endpoint_id',
  'from',
  'to',
  'first_sequence',
  'last_sequence',
  'state',
  'dry_run',
  'reason',
] as const;

const REPLAY_ID_BYTES = 10;

/** Replays of many callbacks of one client: counted, ordered, looked at and cancelled. */
export function callbackReplays(app: FastifyInstance, dependencies: CallbackReplayDependencies): void {
  const { authorize, database, fourEyes } = dependencies;
  const run = fourEyes.guard(callbackReplay);
  const read = authorize({ scope: 'operator:read' });
  const write = [authorize({ scope: 'operator:write' }), requireJson];

  app.post(
    '/operator/v1/callback-replays',
    { onRequest: write, schema: createReplaySchema },
    async (request, reply) => {
      const body = fieldsOf(request, FIELDS);
      const order = readOrder(body);
      if (flagOf(body['dry_run'])) {
        const endpointIds = (await findEndpoints(database, order)).map((endpoint) => endpoint.endpointId);
        const count = await countEvents(dependencies, { ...order, endpointIds });
        return sendOperatorSuccess(reply, 'Callbacks counted', JSON.stringify({ dry_run: true, count, replay: null }));
      }
      const change = changeOf(request, order);
      const earlier = await findRepeated(database, change);
      if (earlier !== null) return sendOperatorSuccess(reply, 'Replay found', orderedJson(earlier));
      const { clientId, endpointId: subjectId } = order;
      const requested = { reason: reasonOf(request), clientId, subjectId, message: 'Replay started' };
      return run(request, reply, { kinds: ['replay'], change, ...requested });
    },
  );

  app.get('/operator/v1/callback-replays', { onRequest: read, schema: listReplaysSchema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, ['client_id', 'state', 'limit']);
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const filter = {
      clientId: textParameter(parameters.client_id, 'client_id'),
      state: oneOf(parameters.state, REPLAY_STATES, 'state'),
    };
    const found = await listRangeReplays(database, filter, limit + 1);
    const replays = found.slice(0, limit).map((each) => replayFor(request, each));
    const data = { replays, has_more: found.length > limit };
    return sendOperatorSuccess(reply, 'Replays found', JSON.stringify(data));
  });

  app.get(
    '/operator/v1/callback-replays/:replay_id',
    { onRequest: read, schema: readReplaySchema },
    async (request, reply) => {
      const replay = await getReplay(database, request);
      return sendOperatorSuccess(reply, 'Replay found', JSON.stringify(replayFor(request, replay)));
    },
  );

  app.post(
    '/operator/v1/callback-replays/:replay_id/cancel',
    { onRequest: write, schema: cancelReplaySchema },
    async (request, reply) => {
      fieldsOf(request, ['reason']);
      const reason = reasonOf(request);
      const isCancelled = await cancel(database, request, { ...(await getReplay(database, request)), reason });
      const replay = await getReplay(database, request);
      const message = isCancelled ? 'Replay cancelled' : 'The replay had ended';
      return sendOperatorSuccess(reply, message, JSON.stringify(replayJson(replay)));
    },
  );
}

interface ReplayOrder {
  readonly clientId: string;
  /** null for all enabled endpoints of the client. */
  readonly endpointId: string | null;
  readonly events: EventRange;
  readonly deliveryState: ReplayedState | null;
}

/** @throws ApiError INVALID_REQUEST, ENDPOINT_NOT_FOUND */
function readOrder(body: JsonObject): ReplayOrder {
  const { client_id: client, endpoint_id: endpointId = null, state } = body;
  const clientId = textParameter(typeof client === 'string' ? client : '', 'client_id') ?? '';
  if (endpointId !== null && typeof endpointId !== 'string') {
    throw invalidRequest(englishOnly('endpoint_id must be a string, or null for all endpoints of the client'));
  }
  if (endpointId !== null && !isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
  const events = rangeOf(body);
  const deliveryState = oneOf(state ?? undefined, REPLAYED_STATES, 'state');
  if (deliveryState === 'missing' && events.by === 'sequence') {
    throw invalidRequest(englishOnly('state missing needs from and to: what is missing is known for a range of time'));
  }
  return { clientId, endpointId, events, deliveryState };
}

function rangeOf({ from, to, first_sequence: first, last_sequence: last }: JsonObject): EventRange {
  const isTime = from !== undefined || to !== undefined;
  const isSequence = first !== undefined || last !== undefined;
  if (isTime === isSequence) {
    throw invalidRequest(englishOnly('give from and to, or first_sequence and last_sequence, and not both'));
  }
  if (isTime) {
    const range = { by: 'time', from: instantParameter(from, 'from'), to: instantParameter(to, 'to') } as const;
    if (range.from >= range.to) throw invalidRequest(englishOnly('from must be before to'));
    return range;
  }
  const range = {
    by: 'sequence',
    first: sequenceOf(first, 'first_sequence'),
    last: sequenceOf(last, 'last_sequence'),
  } as const;
  if (range.first > range.last) throw invalidRequest(englishOnly('first_sequence must be at most last_sequence'));
  return range;
}

/** The JSON reader passes a number that JavaScript might round as its text. */
const sequenceOf = (value: unknown, name: string): number =>
  wholeNumber(numberText(value) ?? '', { name, min: 1, max: SEQUENCE_MAX, fallback: 1 });

function flagOf(value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw invalidRequest(englishOnly('dry_run must be true or false'));
}

/** @throws ApiError ENDPOINT_NOT_FOUND, ENDPOINT_DISABLED */
async function findEndpoints(database: Database, { clientId, endpointId }: ReplayOrder): Promise<CallbackEndpoint[]> {
  if (endpointId === null) {
    const enabled = (await listEndpoints(database, clientId)).filter(({ disabledAt }) => disabledAt === null);
    if (enabled.length > 0) return enabled;
    const message = englishOnly(
      'The client has no endpoint that is enabled, or there is no such client: there is nowhere to send callbacks to',
    );
    throw new ApiError('ENDPOINT_NOT_FOUND', { message });
  }
  const endpoint = await findEndpoint(database, { clientId, endpointId });
  if (endpoint === null) throw new ApiError('ENDPOINT_NOT_FOUND');
  if (endpoint.disabledAt !== null) throw new ApiError('ENDPOINT_DISABLED');
  return [endpoint];
}

/** What was ordered, with the key that the order may be repeated with. */
interface ReplayChange extends JsonObject, ReplayOrder {
  readonly idempotencyKey: string;
  readonly createdBy: string;
  /** Where a range of time ends that was ordered into the future: what happens later was not looked at. */
  readonly until: string | null;
}

/** @throws ApiError INVALID_REQUEST */
function changeOf(request: FastifyRequest, order: ReplayOrder): ReplayChange {
  const idempotencyKey = idempotencyKeyOf(request.headers['idempotency-key']);
  const now = new Date().toISOString();
  const until = order.events.by === 'time' && order.events.to > now ? now : null;
  if (idempotencyKey !== null) return { ...order, idempotencyKey, createdBy: actorOf(request).actor, until };
  throw invalidRequest(
    englishOnly('the header Idempotency-Key is missing: send any text of your own, and the same text to repeat this'),
  );
}

const sha256Of = ({ clientId, endpointId, events, deliveryState }: ReplayOrder): Buffer =>
  createHash('sha256')
    .update(JSON.stringify([clientId, endpointId, events, deliveryState]))
    .digest();

/** The replay that the same order with the same key started. @throws ApiError IDEMPOTENCY_KEY_REUSED */
async function findRepeated(database: Database, change: ReplayChange): Promise<RangeReplay | null> {
  const earlier = await findReplayByKey(database, change.clientId, change.idempotencyKey);
  if (earlier !== null && !earlier.requestSha256.equals(sha256Of(change))) throw new ApiError('IDEMPOTENCY_KEY_REUSED');
  return earlier === null ? null : earlier.replay;
}

const callbackReplay: GuardedOperation<ReplayChange> = {
  action: 'callback replay',

  /**
   * Nothing needs a lock: a replay ends at an endpoint that is disabled meanwhile. The URL and the kinds of an
   * endpoint are there as a hash, because a URL may hold a secret.
   */
  async lockState(inside, change) {
    const endpoints = (await findEndpoints(inside, change)).map(({ endpointId, url, kinds }) => ({
      endpoint_id: endpointId,
      sha256: createHash('sha256')
        .update(JSON.stringify([url, kinds]))
        .digest('hex'),
    }));
    return JSON.stringify({ endpoints });
  },

  async execute(inside, change, reason) {
    const { clientId, events, deliveryState, idempotencyKey, createdBy, until } = change;
    const repeated = await findRepeated(inside, change);
    if (repeated !== null) return { result: orderedJson(repeated), record: null };
    const replayId = `rp_${randomBytes(REPLAY_ID_BYTES).toString('hex')}`;
    const endpointIds = (await findEndpoints(inside, change)).map((endpoint) => endpoint.endpointId);
    const isNew = await insertRangeReplay(inside, {
      clientId,
      replayId,
      events: events.by === 'time' && until !== null ? { ...events, to: until } : events,
      deliveryState,
      endpointIds,
      idempotencyKey,
      requestSha256: sha256Of(change),
      createdBy,
    });
    const stored = await findRepeated(inside, change);
    if (stored === null) throw new Error('the replay was not stored');
    // Not new: another request with the same key was stored first, at the same time.
    if (!isNew) return { result: orderedJson(stored), record: null };
    const after = JSON.stringify(replayJson(stored));
    const record = { action: 'callback replay', clientId, subjectId: replayId, reason, before: null, after };
    return { result: orderedJson(stored), record };
  },
};

const orderedJson = (replay: RangeReplay): string =>
  JSON.stringify({ dry_run: false, count: null, replay: replayJson(replay) });

/** False when it had ended. */
function cancel(
  database: Database,
  request: FastifyRequest,
  { replayId, clientId, reason }: Pick<RangeReplay, 'replayId' | 'clientId'> & { readonly reason: string },
): Promise<boolean> {
  return recordingAction(database, actorOf(request), async (inside) => {
    const before = await cancelRangeReplay(inside, { replayId, clientId });
    if (before !== 'RUNNING') return { result: false, record: null };
    const cancelled = await findRangeReplay(inside, replayId);
    const record = {
      action: 'callback replay cancel',
      clientId,
      subjectId: replayId,
      reason,
      before: JSON.stringify({ state: before }),
      after: cancelled === null ? null : JSON.stringify(replayJson(cancelled)),
    };
    return { result: true, record };
  });
}

/** The replay that the path names. @throws ApiError NOT_FOUND */
async function getReplay(database: Database, request: FastifyRequest): Promise<RangeReplay> {
  const { replay_id: replayId } = request.params as { readonly replay_id: string };
  const replay = REPLAY_ID.test(replayId) ? await findRangeReplay(database, replayId) : null;
  if (replay !== null) return replay;
  throw new ApiError('NOT_FOUND', {
    message: englishOnly('No replay has this ID: GET /operator/v1/callback-replays lists those of the last 90 days'),
  });
}

const REPLAY_ID = /^rp_[0-9a-f]{20}$/;

/** For the reader, who may be one that is not told who started it. */
const replayFor = (request: FastifyRequest, replay: RangeReplay): Record<string, unknown> =>
  showsActors(request) ? replayJson(replay) : { ...replayJson(replay), created_by: null };

const replayJson = (replay: RangeReplay): Record<string, unknown> => {
  const { events } = replay;
  return {
    replay_id: replay.replayId,
    client_id: replay.clientId,
    from: events.by === 'time' ? events.from : null,
    to: events.by === 'time' ? events.to : null,
    first_sequence: events.by === 'sequence' ? events.first : null,
    last_sequence: events.by === 'sequence' ? events.last : null,
    delivery_state: replay.deliveryState,
    state: replay.state,
    created_by: replay.createdBy,
    created_at: replay.createdAt,
    ended_at: replay.endedAt,
    endpoints: replay.endpoints.map(({ endpointId, outcome, examined, replayed, progress }) => ({
      endpoint_id: endpointId,
      outcome,
      examined,
      replayed,
      progress: Number(Math.min(Math.max(progress, 0), 1).toFixed(3)),
    })),
  };
};
