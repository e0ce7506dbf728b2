import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { REPLAYED_STATES, replayRange as replay } from '../../postgres/callback-replays.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { SEQUENCE_MAX } from '../events/schema.ts';
import { invalidRequest } from '../query-parameters.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';
import type { CallbackDependencies } from './dependencies.ts';
import { isEndpointId } from './endpoint-path.ts';
import { EndpointId, onCallbacks } from './endpoint-schema.ts';
import { readReplay } from './replay-fields.ts';

/** So many events at once that a statement is done well within its deadline, and so long in all, as far as that goes. */
const EVENTS_AT_ONCE = 1_000;
const BUDGET_MS = 1_500;

const schema = {
  ...onCallbacks,
  operationId: 'replayCallbackDeliveries',
  summary: 'Deliver all callbacks of a range of time again',
  description:
    'Also for the first time: what the endpoint wants and was never sent, because it was not registered or disabled when it happened. A long range takes several requests: while `has_more`, ask again with `after`.',
  body: Type.Object({
    endpoint_id: EndpointId,
    from: Type.String({ format: 'date-time', description: 'RFC 3339: events from this moment on.' }),
    to: Type.String({ format: 'date-time', description: 'RFC 3339: events before this moment.' }),
    state: Type.Optional(
      Type.Enum([...REPLAYED_STATES], {
        description: 'Only those in this state; missing are those that were never made. Without it all of them.',
      }),
    ),
    after: Type.Optional(
      Type.Integer({ description: 'The `next_after` of the answer before.', minimum: 1, maximum: SEQUENCE_MAX }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          endpoint_id: EndpointId,
          from: Timestamp,
          to: Timestamp,
          replayed: Type.Integer({ description: 'How many are pending now because of this.', minimum: 0 }),
          next_after: nullable(Type.Integer(), 'null when there are no more.'),
          has_more: Type.Boolean(),
        },
        { additionalProperties: false },
      ),
      'Deliveries replayed',
      'How many.',
    ),
    ...errorResponses([
      'INVALID_FORMAT',
      'INVALID_REQUEST',
      'ENDPOINT_NOT_FOUND',
      'ENDPOINT_DISABLED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
    ]),
  },
};

export function replayRange(app: FastifyInstance, { authorize, database }: CallbackDependencies): void {
  const onRequest = [authorize({ scope: 'callbacks:manage', limitedOperation: 'callbacks' }), requireJson];

  app.post('/api/v1/callback-deliveries/replay', { onRequest, schema }, async (request, reply) => {
    const { endpointId, ...range } = readReplay(jsonObject(request.body));
    if (!isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
    request.logFields = { endpoint: endpointId };
    const key = { clientId: callerOf(request).client.clientId, endpointId };
    const startedMs = performance.now();
    let replayed = 0;
    let { after } = range;
    do {
      const some = await replay(database, key, { ...range, after, limit: EVENTS_AT_ONCE });
      if (some.outcome !== 'replayed') throw refusal(some.outcome);
      replayed += some.count;
      after = some.goOnAfter;
    } while (after !== null && performance.now() - startedMs < BUDGET_MS);
    const { from, to } = range;
    const data = { endpoint_id: endpointId, from, to, replayed, next_after: after, has_more: after !== null };
    return sendSuccess(reply, 'Deliveries replayed', JSON.stringify(data));
  });
}

function refusal(outcome: 'not_found' | 'disabled' | 'unknown_after'): ApiError {
  switch (outcome) {
    case 'not_found':
      return new ApiError('ENDPOINT_NOT_FOUND');
    case 'disabled':
      return new ApiError('ENDPOINT_DISABLED');
    case 'unknown_after':
      return invalidRequest('after must be the next_after of the answer before');
  }
}
