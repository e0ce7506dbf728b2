import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import {
  type LastAttempt,
  listUndelivered,
  UNDELIVERED_STATES,
  type UndeliveredDelivery,
} from '../../../postgres/callback-outbox-list.ts';
import type { Database } from '../../../postgres/database.ts';
import { type Authorize, callerOf } from '../../authorize.ts';
import { attemptFields } from '../../callbacks/delivery-resource.ts';
import { type Cursors, linkToNext } from '../../cursors.ts';
import { sendOperatorSuccess } from '../../envelope.ts';
import { LIMIT_DEFAULT, LIMIT_MAX, nextPage, pageParameters } from '../../pages.ts';
import { invalidRequest, oneOf, searchParameters, wholeNumber } from '../../query-parameters.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { textParameter } from '../transactions/search-filter.ts';

export interface OperatorDeliveriesDependencies {
  readonly authorize: Authorize;
  readonly database: Database;
  readonly cursors: Cursors;
}

/** What was not delivered to the endpoints of all clients, or of one. */
export function listUndeliveredCallbacks(
  app: FastifyInstance,
  { authorize, database, cursors }: OperatorDeliveriesDependencies,
): void {
  const onRequest = authorize({ scope: 'operator:read' });

  app.get('/operator/v1/callback-deliveries', { onRequest, schema }, async (request, reply) => {
    const parameters = searchParameters(request.originalUrl, ['client_id', 'endpoint_id', 'state', 'limit', 'cursor']);
    const limit = wholeNumber(parameters.limit, { name: 'limit', min: 1, max: LIMIT_MAX, fallback: LIMIT_DEFAULT });
    const filter = {
      clientId: textParameter(parameters.client_id, 'client_id'),
      endpointId: textParameter(parameters.endpoint_id, 'endpoint_id'),
      state: oneOf(parameters.state, UNDELIVERED_STATES, 'state'),
    };
    // Endpoints are unique for their client only, and no index begins with them.
    if (filter.endpointId !== null && filter.clientId === null) {
      throw invalidRequest(englishOnly('endpoint_id needs client_id: give the client of the endpoint as well'));
    }
    const scope = { list: 'operator-deliveries', clientId: callerOf(request).client.clientId, filter } as const;
    const after = parameters.cursor === undefined ? null : positionOf(cursors.read(scope, parameters.cursor));
    const found = await listUndelivered(database, filter, { after, limit: limit + 1 });
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    const cursor =
      last === undefined ? null : cursors.issue(scope, [last.clientId, last.endpointId, String(last.sequence)]);
    if (cursor !== null) reply.header('link', linkToNext(request.originalUrl, cursor));
    const data = { deliveries: page.map(deliveryJson), next_cursor: cursor, has_more: cursor !== null };
    return sendOperatorSuccess(reply, 'Deliveries found', JSON.stringify(data));
  });
}

const positionOf = ([clientId = '', endpointId = '', sequence = '0']: readonly string[]) => ({
  clientId,
  endpointId,
  sequence: Number(sequence),
});

const deliveryJson = (delivery: UndeliveredDelivery): Record<string, unknown> => ({
  client_id: delivery.clientId,
  delivery_id: `${delivery.endpointId}-${delivery.sequence}`,
  // Clients put keys of their own into paths and queries, which the operator must not see.
  origin: new URL(delivery.url).origin,
  type: delivery.kind,
  subject_id: delivery.subjectId,
  occurred_at: delivery.occurredAt,
  state: delivery.state,
  attempt_count: delivery.attempts,
  next_attempt_at: delivery.nextAttemptAt,
  ended_at: delivery.endedAt,
  last_attempt: delivery.lastAttempt === null ? null : lastAttemptJson(delivery.lastAttempt),
});

const lastAttemptJson = ({ at, httpStatus, error }: LastAttempt): Record<string, unknown> => ({
  at,
  http_status: httpStatus,
  error,
});

const text = (description: string, example: string) => Type.String({ description, examples: [example] });

const UndeliveredState = Type.Enum([...UNDELIVERED_STATES], {
  title: 'UndeliveredState',
  description: 'exhausted: every attempt failed. pending: more follow.',
});

const Undelivered = Type.Object(
  {
    client_id: text('The client.', 'shop-one'),
    delivery_id: text('The endpoint and the sequence of the event.', 'ep_5f0c1d2e3b4a59687786-42'),
    origin: text("Scheme, host and port of the endpoint's URL.", 'https://callbacks.example.com'),
    type: nullable(text('The kind of event.', 'disbursement.succeeded'), 'null when the event was removed.'),
    subject_id: nullable(text('A transaction, a validation or a bank.', 'TB2026112100000001'), 'null as above.'),
    occurred_at: nullable(Timestamp, 'null as above.'),
    state: UndeliveredState,
    attempt_count: Type.Integer({ description: 'All attempts so far.', minimum: 0, examples: [3] }),
    next_attempt_at: nullable(Timestamp, 'null unless pending.'),
    ended_at: nullable(Timestamp, 'When it was given up.'),
    last_attempt: nullable(
      Type.Object(
        { at: Timestamp, http_status: attemptFields.http_status, error: attemptFields.error },
        { title: 'LastCallbackAttempt', additionalProperties: false },
      ),
      'How the last attempt ended; null before the first one.',
    ),
  },
  { title: 'UndeliveredCallback', additionalProperties: false },
);

const schema = {
  tags: ['Callbacks'],
  security: accessToken('operator:read'),
  operationId: 'listUndeliveredCallbacks',
  summary: 'List callbacks that were not delivered',
  description: 'Of all clients, in the order of client, endpoint and event. A delivery in the list can be sent again.',
  querystring: Type.Object({
    client_id: Type.Optional(text('The client.', 'shop-one')),
    endpoint_id: Type.Optional(text('The endpoint. It needs `client_id`.', 'ep_5f0c1d2e3b4a59687786')),
    state: Type.Optional(UndeliveredState),
    ...pageParameters,
  }),
  response: {
    200: successResponse(
      Type.Object(
        { deliveries: Type.Array(Undelivered), ...nextPage },
        { title: 'UndeliveredCallbackList', additionalProperties: false },
      ),
      englishOnly('Deliveries found'),
      'The deliveries. `Link` with `rel="next"` is the address of the next page (RFC 8288).',
      { headers: ['Link'] },
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};
