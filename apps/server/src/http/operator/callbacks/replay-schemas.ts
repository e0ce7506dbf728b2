import { Type } from 'typebox';
import { englishOnly } from '../../../lib/bilingual-text.ts';
import { ENDPOINT_OUTCOMES, REPLAY_STATES } from '../../../postgres/callback-replays.ts';
import { REPLAYED_STATES } from '../../../postgres/delivery-replays.ts';
import { EndpointId } from '../../callbacks/endpoint-resource.ts';
import { LIMIT_DEFAULT, LIMIT_MAX } from '../../pages.ts';
import { accessToken, errorResponses, nullable, successResponse, Timestamp } from '../../schemas.ts';
import { actionSchema, Reason } from '../action-schemas.ts';

const text = (description: string, example: string) => Type.String({ description, examples: [example] });
const count = (description: string, example: number) => Type.Integer({ description, minimum: 0, examples: [example] });
const sequence = (description: string, example: number) =>
  Type.Integer({ description, minimum: 1, examples: [example] });

const clientId = text('The client.', 'shop-one');
const replayId = text('The replay.', 'rp_5f0c1d2e3b4a59687786');
const DeliveryState = Type.Enum([...REPLAYED_STATES], {
  title: 'ReplayedState',
  description: 'Only deliveries in this state; missing: events that the endpoint wants and was never sent.',
  examples: ['exhausted'],
});
const State = Type.Enum([...REPLAY_STATES], { title: 'ReplayState', description: 'RUNNING until it ends.' });

const Progress = Type.Object(
  {
    endpoint_id: EndpointId,
    outcome: nullable(
      Type.Enum([...ENDPOINT_OUTCOMES], { title: 'ReplayOutcome' }),
      'null until it ends. disabled, removed: the endpoint was.',
    ),
    examined: count('Events that were examined.', 400),
    replayed: count('Deliveries that became pending.', 390),
    progress: Type.Number({ description: 'How much was examined.', minimum: 0, maximum: 1, examples: [0.25] }),
  },
  { title: 'ReplayProgress', additionalProperties: false },
);

const Replay = Type.Object(
  {
    replay_id: replayId,
    client_id: clientId,
    from: nullable(Timestamp, 'null for a range of events.'),
    to: nullable(Timestamp, 'As `from`. It is not later than when the replay was started.'),
    first_sequence: nullable(sequence('The first event.', 1), 'null for a range of time.'),
    last_sequence: nullable(sequence('The last event.', 1000), 'As `first_sequence`.'),
    delivery_state: nullable(DeliveryState, 'null: all.'),
    state: State,
    created_by: nullable(text('Who started it.', 'ops'), 'null for people with a role below `engineer`.'),
    created_at: Timestamp,
    ended_at: nullable(Timestamp, 'null while it runs.'),
    endpoints: Type.Array(Progress),
  },
  { title: 'CallbackReplay', additionalProperties: false },
);

const ReplayCount = Type.Object(
  {
    events: count('Events that would be sent.', 812),
    transactions: count('Transactions that they are about.', 640),
    endpoints: count('Endpoints that they would be sent to.', 2),
    deliveries: count('Callbacks: an event counts once for each endpoint.', 1_530),
    is_complete: Type.Boolean({ description: 'false: there are more. Counting ends after 1.5 seconds.' }),
  },
  { title: 'ReplayCount', additionalProperties: false },
);

const create = actionSchema({
  tag: 'Callbacks',
  scope: 'operator:write',
  operationId: 'createCallbackReplay',
  summary: 'Send many callbacks of one client again',
  description:
    'Those of a range of time (`from`, `to`) or of events (`first_sequence`, `last_sequence`), to one endpoint or to ' +
    'all that are enabled. With `dry_run` it only counts. Otherwise it begins in the background: deliveries become ' +
    'pending a few hundred at a time, and go on when the receiver has taken them. `Idempotency-Key` and ' +
    '`reason` are needed then: the same order with the same key is the same replay.',
  message: 'Replay started',
  body: {
    client_id: clientId,
    endpoint_id: Type.Optional(EndpointId),
    from: Type.Optional(text('RFC 3339: events from this time on.', '2026-11-21T00:00:00Z')),
    to: Type.Optional(text('RFC 3339: events before this time.', '2026-11-22T00:00:00Z')),
    first_sequence: Type.Optional(sequence('The first event.', 1)),
    last_sequence: Type.Optional(sequence('The last event.', 1000)),
    state: Type.Optional(DeliveryState),
    dry_run: Type.Optional(Type.Boolean({ description: 'Count, and change nothing.', default: false })),
    reason: Type.Optional(Reason),
  },
  title: 'CallbackReplayOrder',
  mayBeProposed: true,
  data: Type.Object(
    {
      dry_run: Type.Boolean({ description: 'Whether it was only counted.', examples: [false] }),
      count: nullable(ReplayCount, 'null unless it was only counted.'),
      replay: nullable(Replay, 'null if it was only counted.'),
    },
    { title: 'OrderedCallbackReplay', additionalProperties: false },
  ),
  errors: ['ENDPOINT_NOT_FOUND', 'ENDPOINT_DISABLED', 'IDEMPOTENCY_KEY_REUSED'],
});

export const createReplaySchema = {
  ...create,
  headers: Type.Object({
    'idempotency-key': Type.Optional(text('Any text of your own. Needed unless `dry_run`.', 'ticket-4711')),
  }),
};

export const cancelReplaySchema = actionSchema({
  tag: 'Callbacks',
  scope: 'operator:write',
  operationId: 'cancelCallbackReplay',
  summary: 'End a replay of callbacks',
  description: 'Within a few seconds. Deliveries that are pending already are sent.',
  message: 'Replay cancelled',
  params: { replay_id: replayId },
  body: {},
  title: 'CancelReplayRequest',
  data: Replay,
  errors: ['NOT_FOUND'],
});

const reading = { tags: ['Callbacks'], security: accessToken('operator:read') };

export const listReplaysSchema = {
  ...reading,
  operationId: 'listCallbackReplays',
  summary: 'List replays of callbacks, the latest first',
  description: 'Those of the last 90 days, with their progress.',
  querystring: Type.Object({
    client_id: Type.Optional(clientId),
    state: Type.Optional(State),
    limit: Type.Optional(
      Type.Integer({ description: 'How many at most.', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT }),
    ),
  }),
  response: {
    200: successResponse(
      Type.Object(
        {
          replays: Type.Array(Replay),
          has_more: Type.Boolean({ description: 'Whether there are more than `limit`.', examples: [false] }),
        },
        { title: 'CallbackReplayList', additionalProperties: false },
      ),
      englishOnly('Replays found'),
      'The replays.',
    ),
    ...errorResponses(['INVALID_REQUEST']),
  },
};

export const readReplaySchema = {
  ...reading,
  operationId: 'readCallbackReplay',
  summary: 'Read the progress of a replay of callbacks',
  description: 'At each of its endpoints.',
  params: Type.Object({ replay_id: replayId }),
  response: {
    200: successResponse(Replay, englishOnly('Replay found'), 'The replay.'),
    ...errorResponses(['NOT_FOUND']),
  },
};
