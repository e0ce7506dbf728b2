import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { BilingualText } from '../../lib/bilingual-text.ts';
import { type JsonObject, numberText } from '../../lib/exact-json.ts';
import { ownProperty } from '../../lib/own-property.ts';
import {
  REPLAYED_STATES,
  type ReplayedState,
  type ReplayOutcome,
  replayRange as replay,
} from '../../postgres/delivery-replays.ts';
import { callerOf } from '../authorize.ts';
import { sendSuccess } from '../envelope.ts';
import { ApiError } from '../errors.ts';
import { SEQUENCE_MAX } from '../events/schema.ts';
import { instantParameter, invalidRequest, oneOf, wholeNumber } from '../query-parameters.ts';
import { jsonObject, requireJson } from '../request-body.ts';
import { errorResponses, nullable, successResponse, Timestamp } from '../schemas.ts';
import { EndpointId, isEndpointId } from './endpoint-resource.ts';
import { type CallbackDependencies, callbackOperation, manageCallbacks } from './operation.ts';

/** Events in one statement: few enough that it ends well within the statement timeout. */
const EVENTS_PER_STATEMENT = 1_000;
/** No further statement starts after this time; the client continues with the next request. */
const BUDGET_MS = 1_500;

const MESSAGE: BilingualText = { en: 'Deliveries replayed', id: 'Callback dikirim ulang' };

const schema = {
  ...callbackOperation,
  operationId: 'replayCallbackDeliveries',
  summary: 'Send all callbacks of a time range again',
  description:
    'Includes events that the endpoint wants and was never sent, because it was not registered or was disabled when ' +
    'they happened. A long range takes several requests: while `has_more` is true, repeat the request with `after`.',
  body: Type.Object(
    {
      endpoint_id: EndpointId,
      from: Type.String({
        format: 'date-time',
        description: 'RFC 3339: events from this time on.',
        examples: ['2026-11-21T00:00:00Z'],
      }),
      to: Type.String({
        format: 'date-time',
        description: 'RFC 3339: events before this time.',
        examples: ['2026-11-22T00:00:00Z'],
      }),
      state: Type.Optional(
        Type.Enum([...REPLAYED_STATES], {
          title: 'ReplayedState',
          examples: ['exhausted'],
          description:
            'Only deliveries in this state; missing: events without a delivery to this endpoint, as ' +
            'far back as deliveries are kept; `from` of the response says from when. All when omitted.',
        }),
      ),
      after: Type.Optional(
        Type.Integer({
          description: 'The `next_after` of the previous response.',
          minimum: 1,
          maximum: SEQUENCE_MAX,
          examples: [1001],
        }),
      ),
    },
    { title: 'ReplayRequest' },
  ),
  response: {
    200: successResponse(
      Type.Object(
        {
          endpoint_id: EndpointId,
          from: Timestamp,
          to: Timestamp,
          replayed: Type.Integer({
            description: 'Deliveries that this request made pending.',
            minimum: 0,
            examples: [1000],
          }),
          next_after: nullable(Type.Integer({ examples: [1001] }), 'null when the range is done.'),
          has_more: Type.Boolean({ description: 'Whether to repeat the request with `after`.' }),
        },
        { title: 'ReplayResult', additionalProperties: false },
      ),
      MESSAGE,
      'The number of replayed deliveries.',
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

export function replayRange(app: FastifyInstance, { authorize, database, callbackDays }: CallbackDependencies): void {
  const onRequest = [authorize(manageCallbacks), requireJson];

  app.post('/api/v1/callback-deliveries/replay', { onRequest, schema }, async (request, reply) => {
    const { endpointId, ...range } = parseReplay(jsonObject(request.body));
    if (!isEndpointId(endpointId)) throw new ApiError('ENDPOINT_NOT_FOUND');
    request.logFields = { endpoint: endpointId };
    const key = { clientId: callerOf(request).client.clientId, endpointId };
    const startedMs = performance.now();
    const { state, to } = range;
    let replayed = 0;
    let { from, after } = range;
    do {
      const events = { by: 'time', from, to } as const;
      const result = await replay(database, key, { events, state, after, callbackDays, limit: EVENTS_PER_STATEMENT });
      if (result.outcome !== 'replayed') throw toApiError(result);
      replayed += result.count;
      if (result.events.by === 'time') ({ from } = result.events);
      after = result.nextAfter;
    } while (after !== null && performance.now() - startedMs < BUDGET_MS);
    const data = { endpoint_id: endpointId, from, to, replayed, next_after: after, has_more: after !== null };
    return sendSuccess(reply, MESSAGE, JSON.stringify(data));
  });
}

interface ReplayRequest {
  readonly endpointId: string;
  readonly from: string;
  readonly to: string;
  readonly state: ReplayedState | null;
  readonly after: number | null;
}

/** @throws ApiError INVALID_REQUEST */
function parseReplay(body: JsonObject): ReplayRequest {
  const endpointId = ownProperty(body, 'endpoint_id');
  if (typeof endpointId !== 'string') {
    throw invalidRequest({
      en: 'endpoint_id must be a string: the endpoint to send the callbacks to',
      id: 'endpoint_id harus berupa string: endpoint tujuan callback',
    });
  }
  const from = instantParameter(ownProperty(body, 'from'), 'from');
  const to = instantParameter(ownProperty(body, 'to'), 'to');
  if (from >= to) throw invalidRequest({ en: 'from must be before to', id: 'from harus sebelum to' });
  const state = oneOf(ownProperty(body, 'state'), REPLAYED_STATES, 'state');
  const after = ownProperty(body, 'after');
  return { endpointId, from, to, state, after: after === undefined ? null : readSequence(after) };
}

function readSequence(value: unknown): number {
  // The JSON reader passes a number that JavaScript might round as its text.
  const text = numberText(value) ?? '';
  return wholeNumber(text, { name: 'after', min: 1, max: SEQUENCE_MAX, fallback: 1 });
}

function toApiError(result: Exclude<ReplayOutcome, { readonly outcome: 'replayed' }>): ApiError {
  switch (result.outcome) {
    case 'not_found':
      return new ApiError('ENDPOINT_NOT_FOUND');
    case 'disabled':
      return new ApiError('ENDPOINT_DISABLED');
    case 'too_old':
      return invalidRequest({
        en:
          `to must be after ${result.from}: of earlier events the service no longer knows which ones are missing. ` +
          'Read them with GET /api/v1/events, or omit state to send all of them',
        id:
          `to harus setelah ${result.from}: untuk event yang lebih lama, layanan tidak lagi mengetahui mana yang ` +
          'terlewat. Baca dengan GET /api/v1/events, atau hilangkan state untuk mengirim semuanya',
      });
    case 'unknown_after':
      return invalidRequest({
        en: 'after must be the next_after of the previous response',
        id: 'after harus berupa next_after dari jawaban sebelumnya',
      });
  }
}
